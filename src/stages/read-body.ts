import type { IncomingMessage, ServerResponse } from 'node:http';
import { ArrivingBody } from '../bodies/arriving-body.ts';
import { inMemory, noBodyMemory, type BodyMemory } from '../bodies/body-memory.ts';
import { noBody, type Body } from '../bodies/body.ts';
import { collectBody, takeArrived, tooLarge } from '../bodies/collect-body.ts';
import type { AnyBodyRule, BodyRule, JsonBodyRule, UploadBodyRule } from '../config/config.ts';
import { Refusal } from '../refusals.ts';
import type { SpoolRoom } from '../uploads/spool.ts';
import type { Visit } from '../visit.ts';
import type { Head } from './check-request.ts';
import { readAny } from './read-any.ts';
import { readJson, requireJsonContentType } from './read-json.ts';
import { heldBytesMax, readUpload, requireUploadHead } from './read-upload.ts';

/** What the readers of bodies work with. */
export interface BodyRooms {
  readonly memory: BodyMemory;
  readonly spools: SpoolRoom;
  /** From the end of the headers to the end of a body that sets no times of its own. */
  readonly requestMs: number;
}

/** What is asked of one body. */
export interface BodyOrder {
  readonly head: Head;
  readonly rule: BodyRule;
  readonly rooms: BodyRooms;
  readonly visit: Pick<Visit, 'bytesIn' | 'mismatch'>;
}

/**
 * Head → Body. 400 408 413 415 499 503.
 * Whatever the head alone can decide is decided before a byte is read, and before `100 Continue` invites the client to send.
 * The caller releases the body when it is no longer needed.
 */
export function readBody(res: ServerResponse, order: BodyOrder): Body | Promise<Body> {
  const { head, rule } = order;
  if (rule.kind === 'none')
    return head.contentLength === 0 ? withoutBody(res, head) : readNothing(res.req, order);
  if (head.contentEncoding !== undefined && head.contentEncoding.toLowerCase() !== 'identity') {
    throw new Refusal('content_encoding_unsupported');
  }
  if (rule.kind === 'json') return readWholeJson(res, order, rule);
  if (rule.kind === 'upload') return readUploaded(res, order, rule);
  return head.contentLength === 0 ? withoutBody(res, head) : readAnything(res, order, rule);
}

/** The head says that there is no body. Node ends a connection on which it has met no expectation, with what comes behind it. */
function withoutBody(res: ServerResponse, head: Head): Body {
  if (head.expectsContinue) res.writeContinue();
  return noBody;
}

/** Chunks may turn out to hold nothing, which is not a body (RFC 9112 §6.3). A client that asks before sending one has one. */
async function readNothing(req: IncomingMessage, order: BodyOrder): Promise<Body> {
  const { head } = order;
  if (head.contentLength !== undefined || head.expectsContinue) throw new Refusal('body_unexpected');
  try {
    await collectBody(req, 0, order);
  } catch (error) {
    const unexpected = error instanceof Refusal && error.code === 'body_too_large';
    throw unexpected ? new Refusal('body_unexpected') : error;
  }
  return noBody;
}

function readWholeJson(res: ServerResponse, order: BodyOrder, rule: JsonBodyRule): Body | Promise<Body> {
  const { head, rooms, visit } = order;
  requireJsonContentType(head.contentType, rule.suffixed);
  if (head.contentLength !== undefined && head.contentLength > rule.sizeMax) throw tooLarge(rule.sizeMax);
  if (head.expectsContinue) res.writeContinue();
  const bytes =
    head.contentLength === 0 ? noBody.bytes : takeArrived(res.req, head.contentLength, rooms.memory);
  if (bytes !== undefined) {
    visit.bytesIn = bytes.length;
    return checkJson(bytes, rule, order);
  }
  return collectBody(res.req, rule.sizeMax, order).then((collected) => checkJson(collected, rule, order));
}

function checkJson(bytes: Buffer, rule: JsonBodyRule, { rooms, visit }: BodyOrder): Body {
  const body = inMemory(bytes, rooms.memory);
  try {
    visit.mismatch = readJson(bytes, rule);
  } catch (refusal) {
    body.release();
    throw refusal;
  }
  return body;
}

async function readAnything(
  res: ServerResponse,
  { head, rooms, visit }: BodyOrder,
  { arrival, sizeMax }: AnyBodyRule,
): Promise<Body> {
  const { contentLength } = head;
  if (contentLength !== undefined && contentLength > sizeMax) throw tooLarge(sizeMax);
  if (head.expectsContinue) res.writeContinue();
  const arriving = new ArrivingBody(res.req, { ...arrival, tooSlow: 'request_timeout', visit });
  return await readAny(arriving, { contentLength, sizeMax, memory: rooms.memory });
}

async function readUploaded(
  res: ServerResponse,
  { head, rooms, visit }: BodyOrder,
  { upload, arrival }: UploadBodyRule,
): Promise<Body> {
  requireUploadHead(head, upload);
  const held = heldBytesMax(upload, head.contentLength);
  if (!rooms.memory.take(held)) throw noBodyMemory();
  const giveBack = (): void => rooms.memory.giveBack(held);
  try {
    if (head.expectsContinue) res.writeContinue();
    const arriving = new ArrivingBody(res.req, { ...arrival, tooSlow: 'upload_too_slow', visit });
    const order = { head, rule: upload, spools: rooms.spools, visit, released: giveBack };
    return await readUpload(arriving, order);
  } catch (error) {
    giveBack();
    throw error;
  }
}
