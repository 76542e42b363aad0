import type { IncomingMessage, ServerResponse } from 'node:http';
import { bodyBroken, breakBody, brokenBy } from '../broken-body.ts';
import { CollectedBytes } from '../collected-bytes.ts';
import type { BodyRule } from '../config/config.ts';
import { bufferedBytesMax } from '../config/held-bytes.ts';
import { printSize } from '../config/units.ts';
import { overloaded, Refusal } from '../refusals.ts';
import { readArriving, type ArrivingBody, type Arrivals } from '../uploads/arriving-body.ts';
import { lettingGo } from '../let-go.ts';
import type { SpoolRoom } from '../uploads/spool.ts';
import { noBody, type Body, type BytesBody } from '../upstream/body.ts';
import { afterReading } from '../when-all-is-read.ts';
import type { Head } from './check-request.ts';
import { readJson, requireJsonContentType } from './read-json.ts';
import { heldBytesMax, readUpload, requireUploadHead } from './read-upload.ts';

/** Bytes of request bodies that the process may still take into memory. */
export class BodyMemory {
  #free: number;

  constructor(bytes: number) {
    this.#free = bytes;
  }

  take(bytes: number): boolean {
    if (bytes > this.#free) return false;
    this.#free -= bytes;
    return true;
  }

  giveBack(bytes: number): void {
    this.#free += bytes;
  }
}

/** What the readers of bodies work with. It is made once, when the gateway starts. */
export interface BodyRooms {
  readonly memory: BodyMemory;
  readonly spools: SpoolRoom;
  /** From the end of the headers to the end of a body that sets no pace of its own. */
  readonly requestMs: number;
}

/** What is asked of one body. */
export interface BodyOrder {
  readonly head: Head;
  readonly rule: BodyRule;
  readonly rooms: BodyRooms;
  readonly arrivals: Arrivals;
}

/**
 * Head → Body. 400 408 413 415 503.
 * Whatever the head alone can decide is decided before a byte is read, and before `100 Continue` invites the client to send.
 * The caller releases the body when it is no longer needed.
 */
export function readBody(req: IncomingMessage, res: ServerResponse, order: BodyOrder): Body | Promise<Body> {
  const { head, rule } = order;
  if (rule.kind === 'none') return head.contentLength === 0 ? noBody : readNothing(req, order);
  if (head.contentEncoding !== undefined && head.contentEncoding.toLowerCase() !== 'identity') {
    throw new Refusal('content_encoding_unsupported');
  }
  if (rule.kind === 'json') return readWholeJson(req, res, { order, rule });
  if (rule.kind === 'upload') return readUploaded(req, res, { order, rule });
  return head.contentLength === 0 ? noBody : readAny(req, res, { order, rule });
}

interface Reading<Kind extends BodyRule['kind']> {
  readonly order: BodyOrder;
  readonly rule: Extract<BodyRule, { kind: Kind }>;
}

/** Chunks may turn out to hold nothing, and that is no body (RFC 9112 §6.3). Who asks before sending one has one. */
async function readNothing(req: IncomingMessage, { head, rooms }: BodyOrder): Promise<Body> {
  if (head.contentLength !== undefined || head.expectsContinue) throw new Refusal('body_unexpected');
  try {
    await collectInTime(req, 0, rooms);
  } catch (error) {
    const unexpected = error instanceof Refusal && error.code === 'body_too_large';
    throw unexpected ? new Refusal('body_unexpected') : error;
  }
  return noBody;
}

function readWholeJson(
  req: IncomingMessage,
  res: ServerResponse,
  { order, rule }: Reading<'json'>,
): Body | Promise<Body> {
  const { head, rooms } = order;
  requireJsonContentType(head.contentType, rule.suffixed);
  if (head.contentLength !== undefined && head.contentLength > rule.sizeMax) throw tooLarge(rule.sizeMax);
  if (head.expectsContinue) res.writeContinue();
  const bytes = head.contentLength === 0 ? nothing : takeArrived(req, head, rooms.memory);
  if (bytes !== undefined) return checkJson(bytes, { order, rule });
  return collectInTime(req, rule.sizeMax, rooms).then((collected) => checkJson(collected, { order, rule }));
}

function checkJson(bytes: Buffer, { order: { rooms, arrivals }, rule }: Reading<'json'>): Body {
  arrivals.bytesIn = bytes.length;
  const body = inMemory(bytes, rooms.memory);
  try {
    readJson(bytes, rule);
  } catch (refusal) {
    body.release();
    throw refusal;
  }
  return body;
}

/** What is worth buffering can be sent again to another target; a larger body, or a longer chunked one, streams. */
async function readAny(
  req: IncomingMessage,
  res: ServerResponse,
  { order: { head, rooms, arrivals }, rule }: Reading<'any'>,
): Promise<Body> {
  if (head.contentLength !== undefined && head.contentLength > rule.sizeMax) throw tooLarge(rule.sizeMax);
  if (head.expectsContinue) res.writeContinue();
  const { pace, sizeMax } = rule;
  const arriving = readArriving(req, { pace, tooSlow: 'request_timeout', arrivals });
  const chunks = bounded(arriving.chunks, sizeMax);
  if (head.contentLength !== undefined && head.contentLength > bufferedBytesMax) {
    return streamOnce({ arriving, first: noBody, chunks }, head.contentLength);
  }
  const collected = new CollectedBytes(sizeMax);
  try {
    for (let next = await chunks.next(); next.done !== true; next = await chunks.next()) {
      const chunk = next.value;
      if (collected.length + chunk.length > bufferedBytesMax) {
        const first = inMemory(collected.take(), rooms.memory);
        return streamOnce({ arriving, first, chunks: joined(first, chunk, chunks) }, undefined);
      }
      if (!rooms.memory.take(chunk.length)) throw overloaded();
      collected.takeOver(chunk);
    }
  } catch (error) {
    arriving.stop();
    rooms.memory.giveBack(collected.length);
    throw error;
  }
  return inMemory(collected.take(), rooms.memory);
}

async function readUploaded(
  req: IncomingMessage,
  res: ServerResponse,
  { order: { head, rooms, arrivals }, rule }: Reading<'upload'>,
): Promise<Body> {
  requireUploadHead(head, rule.rule);
  const held = heldBytesMax(rule.rule, head.contentLength);
  if (!rooms.memory.take(held)) throw overloaded();
  const giveBack = (): void => rooms.memory.giveBack(held);
  try {
    if (head.expectsContinue) res.writeContinue();
    const { pace } = rule;
    const arriving = readArriving(req, { pace, tooSlow: 'upload_too_slow', arrivals });
    return await readUpload(arriving, { head, rule: rule.rule, spools: rooms.spools, released: giveBack });
  } catch (error) {
    giveBack();
    throw error;
  }
}

const nothing = Buffer.alloc(0);

function inMemory(bytes: Buffer, memory: BodyMemory): BytesBody {
  let held = bytes.length;
  return {
    kind: 'bytes',
    bytes,
    release: () => {
      memory.giveBack(held);
      held = 0;
    },
  };
}

/** A body that is still arriving. */
interface Streaming {
  readonly arriving: ArrivingBody;
  /** What was collected of it before it was clear that it is too large for that. */
  readonly first: BytesBody;
  /** All of it, `first` included. */
  readonly chunks: AsyncGenerator<Buffer, void>;
}

function streamOnce({ arriving, first, chunks }: Streaming, length: number | undefined): Body {
  return {
    kind: 'stream',
    length,
    read: () => lettingGo(chunks),
    repeatable: false,
    release: async () => {
      first.release();
      arriving.stop();
      await chunks.return();
    },
  };
}

async function* bounded(chunks: AsyncIterable<Buffer>, sizeMax: number): AsyncGenerator<Buffer, void> {
  let size = 0;
  for await (const chunk of chunks) {
    size += chunk.length;
    if (size > sizeMax) throw tooLarge(sizeMax);
    yield chunk;
  }
}

async function* joined(
  first: BytesBody,
  chunk: Buffer,
  rest: AsyncGenerator<Buffer, void>,
): AsyncGenerator<Buffer, void> {
  yield first.bytes;
  first.release();
  yield chunk;
  yield* rest;
}

async function collectInTime(req: IncomingMessage, sizeMax: number, rooms: BodyRooms): Promise<Buffer> {
  const stopWaiting = afterReading(rooms.requestMs, () => {
    if (!req.complete) breakBody(req, new Refusal('request_timeout'));
  });
  try {
    return await collect(req, sizeMax, rooms.memory);
  } finally {
    stopWaiting();
  }
}

/**
 * Takes a body that has come whole, as small ones do with their head, so nobody has to listen for it. By the time that is asked,
 * the parser has given out all its bytes, and not yet said that it is over.
 */
function takeArrived(req: IncomingMessage, head: Head, memory: BodyMemory): Buffer | undefined {
  const size = req.readableLength;
  if (size === 0 || size !== head.contentLength || req.destroyed || req.readableFlowing !== null) {
    return undefined;
  }
  // Asked without a size, Node gives the first piece alone, and others may have come while the request waited.
  return memory.take(size) ? (req.read(size) as Buffer) : undefined;
}

/** Counts bytes as they arrive: a declared length is a claim, and a chunked body declares none. */
function collect(req: IncomingMessage, sizeMax: number, memory: BodyMemory): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    const reason = req.destroyed ? new Refusal('client_gone') : brokenBy(req);
    if (reason !== undefined) {
      reject(reason);
      return;
    }
    const collected = new CollectedBytes(sizeMax);

    function take(chunk: Buffer): void {
      const { length } = chunk;
      if (collected.length + length > sizeMax) return fail(tooLarge(sizeMax));
      if (!memory.take(length)) return fail(overloaded());
      collected.takeOver(chunk);
    }
    function finish(): void {
      stopListening();
      resolve(collected.take());
    }
    function fail(error: Refusal): void {
      stopListening();
      memory.giveBack(collected.length);
      reject(error);
    }
    function leave(): void {
      fail(new Refusal('client_gone'));
    }
    function stopListening(): void {
      req.off('data', take).off('end', finish).off('close', leave).off('error', leave).off(bodyBroken, fail);
      req.on('error', ignore);
    }

    req.on('data', take).on('end', finish).on('close', leave).on('error', leave).on(bodyBroken, fail);
  });
}

function ignore(): void {}

function tooLarge(sizeMax: number): Refusal {
  return new Refusal('body_too_large', {
    message: `The request body must be at most ${printSize(sizeMax)}`,
  });
}
