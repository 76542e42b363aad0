import type { IncomingMessage, ServerResponse } from 'node:http';
import type { BodyRule } from '../config/config.ts';
import { Refusal } from '../refusals.ts';
import type { Head } from './check-request.ts';
import { readJson, requireJsonContentType } from './read-json.ts';

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

const broken = new WeakMap<IncomingMessage, Refusal>();

/** Emitted on a request when it turns out that the rest of its body cannot be read. */
export const bodyBroken = Symbol('body broken');

/** Tells whoever reads the body, now or later, that the HTTP parser cannot make sense of the rest of it. */
export function breakBody(req: IncomingMessage, refusal: Refusal): void {
  broken.set(req, refusal);
  req.emit(bodyBroken, refusal);
}

export const noBody = Buffer.alloc(0);

/**
 * Head → the bytes of the body. 400 408 413 415 503.
 * Whatever the head alone can decide is decided before a byte is read, and before `100 Continue` invites the client to send.
 * The caller gives the bytes back to `memory` when they are no longer needed.
 */
export async function readBody(
  req: IncomingMessage,
  res: ServerResponse,
  { head, rule, memory }: { head: Head; rule: BodyRule; memory: BodyMemory },
): Promise<Buffer> {
  const empty = head.contentLength === 0;
  if (rule.kind === 'none') {
    if (empty) return noBody;
    throw new Refusal('body_unexpected');
  }
  if (head.contentEncoding !== undefined && head.contentEncoding.toLowerCase() !== 'identity') {
    throw new Refusal('content_encoding_unsupported');
  }
  if (rule.kind === 'json') requireJsonContentType(head.contentType, rule.suffixed);
  if (head.contentLength !== undefined && head.contentLength > rule.sizeMax) throw tooLarge(rule.sizeMax);
  if (head.expectsContinue) res.writeContinue();
  const bytes = empty ? noBody : await collect(req, rule.sizeMax, memory);
  if (rule.kind === 'json') {
    try {
      readJson(bytes, rule);
    } catch (refusal) {
      memory.giveBack(bytes.length);
      throw refusal;
    }
  }
  return bytes;
}

/** Counts bytes as they arrive: a declared length is a claim, and a chunked body declares none. */
function collect(req: IncomingMessage, sizeMax: number, memory: BodyMemory): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    const reason = req.destroyed ? new Refusal('client_gone') : broken.get(req);
    if (reason !== undefined) {
      reject(reason);
      return;
    }
    let bytes: Buffer = noBody;
    let size = 0;

    function take(chunk: Buffer): void {
      if (size + chunk.length > sizeMax) return fail(tooLarge(sizeMax));
      if (!memory.take(chunk.length))
        return fail(new Refusal('overloaded', { headers: { 'Retry-After': '1' } }));
      bytes = append(bytes, size, { chunk, sizeMax });
      size += chunk.length;
    }
    function finish(): void {
      stopListening();
      resolve(bytes.subarray(0, size));
    }
    function fail(error: Refusal): void {
      stopListening();
      memory.giveBack(size);
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

/**
 * Copies chunks together as they come, in a buffer that doubles: a client may send a body in chunks of one byte, and
 * millions of small buffers would cost a hundred times what was counted. A body in one piece is never copied.
 */
function append(bytes: Buffer, size: number, { chunk, sizeMax }: { chunk: Buffer; sizeMax: number }): Buffer {
  if (size === 0) return chunk;
  const needed = size + chunk.length;
  let target = bytes;
  if (needed > bytes.length) {
    target = Buffer.allocUnsafe(Math.min(sizeMax, Math.max(needed, 2 * bytes.length)));
    bytes.copy(target, 0, 0, size);
  }
  chunk.copy(target, size);
  return target;
}

function ignore(): void {}

function tooLarge(sizeMax: number): Refusal {
  return new Refusal('body_too_large', {
    message: `The request body must be at most ${formatSize(sizeMax)}`,
  });
}

function formatSize(bytes: number): string {
  for (const [unit, size] of [
    ['GB', 1024 ** 3],
    ['MB', 1024 ** 2],
    ['KB', 1024],
  ] as const) {
    if (bytes >= size && bytes % size === 0) return `${bytes / size} ${unit}`;
  }
  return `${bytes} bytes`;
}
