import { tooLarge } from '../bodies/collect-body.ts';
import type { FormRule, BareFileRule, UploadRule } from '../config/upload-rule.ts';
import { Refusal } from '../refusals.ts';
import type { Visit } from '../visit.ts';
import { CollectedBytes } from '../wire/collected-bytes.ts';
import { letGo } from '../wire/let-go.ts';
import { FileTypeCheck } from './check-file-type.ts';
import { FormCheck } from './check-form.ts';
import { readBoundary } from './read-boundary.ts';
import { MultipartReader } from './read-multipart.ts';
import { readDeclaredType } from './read-part-header.ts';
import { createSecondReading } from './second-reading.ts';
import { fileTooLarge, fileTooSmall, missing } from './upload-refusals.ts';

/** What an upload is checked by. */
interface CheckOrder {
  readonly contentType: string | undefined;
  readonly rule: UploadRule;
  readonly visit: Pick<Visit, 'mismatch'>;
}

/**
 * Passes the body on, byte for byte, as far as it has been checked, and throws a `Refusal` where it breaks the rule. No byte of a
 * file comes out before its type has passed, and the last chunk only once everything has, as has the end of a form, for which many
 * parsers take its closing delimiter, however its client cuts what follows. So a caller that forwards this and breaks off on a throw
 * never completes a refused body. At most the text fields, one sample per file and two chunks are held. A chunk is the reader's
 * until it asks for the next.
 */
export async function* checkUpload(
  body: AsyncIterable<Buffer>,
  { contentType, rule, visit }: CheckOrder,
): AsyncGenerator<Buffer, void> {
  const check =
    rule.kind === 'form' ? await openForm(contentType, rule, visit) : openBareFile(contentType, rule);
  const waiting = new CollectedBytes();
  let last: Buffer = nothing;
  let bytes = 0;
  for await (const chunk of body) {
    if (chunk.length === 0) continue;
    bytes += chunk.length;
    checkUploadSize(bytes, rule);
    const lastEndsIt = check.isClosed();
    const checking = check.write(chunk);
    if (checking !== undefined) await checking;
    if (check.typesPassed() && !lastEndsIt) yield* handOut(waiting, last);
    else waiting.takeOver(last);
    last = chunk;
  }
  await check.end(bytes);
  yield* handOut(waiting, last);
}

/** Refuses more bytes than an upload may have, whether they have come or are announced. */
export function checkUploadSize(bytes: number, { kind, sizeMax }: UploadRule): void {
  if (bytes <= sizeMax) return;
  if (kind === 'form') throw tooLarge(sizeMax);
  throw fileTooLarge('The file', sizeMax);
}

const nothing = Buffer.alloc(0);

/** What has waited, and the last chunk. */
function* handOut(waiting: CollectedBytes, last: Buffer): Generator<Buffer, void> {
  for (const chunk of [waiting.take(), last]) {
    if (chunk.length === 0) continue;
    yield chunk;
    letGo(chunk);
  }
}

/** Undefined is returned where there is nothing to wait for, as for nearly every chunk: each wait is several promises (record 27). */
interface UploadCheck {
  readonly write: (chunk: Buffer) => Promise<void> | undefined;
  readonly typesPassed: () => boolean;
  /** Whether what has been written may be taken for all of it. */
  readonly isClosed: () => boolean;
  /** All of it has been written, so many bytes. */
  readonly end: (bytes: number) => Promise<void>;
}

async function openForm(
  contentType: string | undefined,
  rule: FormRule,
  visit: Pick<Visit, 'mismatch'>,
): Promise<UploadCheck> {
  const boundary = readBoundary(contentType);
  const second = await createSecondReading(boundary);
  const form = new FormCheck(rule, visit, (fact) => second.expect(fact));
  const reader = new MultipartReader(boundary, form);
  return {
    write: (chunk) => {
      reader.write(chunk);
      if (form.isDecided()) return second.write(chunk);
      return form.decide().then(() => second.write(chunk));
    },
    typesPassed: () => form.typesPassed(),
    isClosed: () => reader.isClosed(),
    end: async () => {
      reader.end();
      form.finish();
      await second.end();
    },
  };
}

function openBareFile(contentType: string | undefined, rule: BareFileRule): UploadCheck {
  const claims = { label: 'The file', fileName: undefined, ...readOwnType(contentType) };
  const types = rule.types && new FileTypeCheck(rule.types, claims);
  return {
    write: (chunk) => {
      types?.write(chunk);
      return types?.isDecided() === false ? types.decide() : undefined;
    },
    typesPassed: () => types?.isDecided() ?? true,
    isClosed: () => false,
    end: async (bytes) => {
      if (bytes === 0) throw missing('The file');
      if (bytes < rule.sizeMin) throw fileTooSmall('The file', rule.sizeMin);
      types?.end();
      await types?.decide();
    },
  };
}

/** The type of the file that is the whole body. Its faults are not those of a form. */
function readOwnType(contentType: string | undefined): ReturnType<typeof readDeclaredType> {
  try {
    return readDeclaredType(contentType);
  } catch (error) {
    if (!(error instanceof Refusal)) throw error;
    throw new Refusal(error.code, { message: 'Content-Type is malformed', detail: error.message });
  }
}
