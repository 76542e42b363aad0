import type { Arriving } from '../bodies/arriving-body.ts';
import type { StreamedBody } from '../bodies/body.ts';
import { waitForFirst } from '../bodies/first-chunk.ts';
import { fieldsHeldMax } from '../config/held-bytes.ts';
import type { UploadRule } from '../config/upload-rule.ts';
import { checkUpload, checkUploadSize } from '../uploads/check-upload.ts';
import { readBoundary } from '../uploads/read-boundary.ts';
import type { SpoolRoom } from '../uploads/spool.ts';
import { missing } from '../uploads/upload-refusals.ts';
import type { Visit } from '../visit.ts';
import type { Head } from './check-request.ts';

/** How an upload is read. */
interface UploadOrder {
  readonly head: Head;
  readonly rule: UploadRule;
  readonly spools: SpoolRoom;
  readonly visit: Pick<Visit, 'mismatch'>;
  /** Called once when all that is left of the upload is in its spool, or has been sent. */
  readonly released: () => void;
}

/**
 * An arriving body → Body. 400 408 413 415 499 503.
 * `whole` returns when all of it has passed; `stream` as soon as the first bytes may go on, which is when the type of the first
 * file has passed. When it throws, nothing has been sent and nothing is held.
 */
export async function readUpload(arriving: Arriving, order: UploadOrder): Promise<StreamedBody> {
  const { head, rule, visit } = order;
  const checked = checkUpload(arriving, { contentType: head.contentType, rule, visit });
  if (order.rule.forward === 'whole') return await spooled(checked, order);
  return await streamed(checked, arriving, order);
}

/** Refuses what the head alone shows to be wrong, before the client is invited to send. */
export function requireUploadHead({ contentType, contentLength }: Head, rule: UploadRule): void {
  if (contentLength === 0) throw missing(firstRequired(rule));
  if (rule.kind === 'form') readBoundary(contentType);
  if (contentLength !== undefined) checkUploadSize(contentLength, rule);
}

/** The bytes of text fields, names and all, that a form of this declared length can make the gateway hold. */
export function heldBytesMax(rule: UploadRule, contentLength: number | undefined): number {
  if (rule.kind === 'file') return 0;
  return fieldsHeldMax(rule.fields, Math.min(rule.sizeMax, contentLength ?? rule.sizeMax));
}

/** What a sentence calls the first thing that an empty body lacks. */
function firstRequired(rule: UploadRule): string {
  if (rule.kind === 'file') return 'The file';
  const [field] = [...rule.files].find(([, { required }]) => required) ?? [];
  return field ?? 'The form';
}

async function spooled(checked: Chunks, { head, spools, released }: UploadOrder): Promise<StreamedBody> {
  const spool = spools.open(head.contentLength);
  try {
    for await (const chunk of checked) await spool.write(chunk);
  } catch (error) {
    await spool.close();
    throw error;
  }
  released();
  return {
    kind: 'stream',
    length: spool.size(),
    read: () => spool.read(),
    release: () => spool.close(),
  };
}

async function streamed(
  checked: Chunks,
  arriving: Arriving,
  { head, released }: UploadOrder,
): Promise<StreamedBody> {
  const read = await waitForFirst(checked);
  const release = async (): Promise<void> => {
    released();
    arriving.stop();
    await checked.return();
  };
  return { kind: 'stream', length: head.contentLength, read, release };
}

/** Chunks on their way through the gateway. */
type Chunks = AsyncGenerator<Buffer, void>;
