import assert from 'node:assert/strict';
import type { IncomingMessage } from 'node:http';
import { Socket } from 'node:net';
import { test } from 'node:test';
import { brokenBy } from '../../../src/wire/broken-body.ts';
import { createRequestClass } from '../../../src/wire/gathering-request.ts';

const GatheringRequest = createRequestClass();

/** The pieces in which what is left of a body is read. */
async function readOn(req: IncomingMessage): Promise<string[]> {
  const pieces: string[] = [];
  for await (const piece of req) pieces.push(String(piece));
  return pieces;
}

test('small pieces that wait are read as one', async () => {
  const req = new GatheringRequest(new Socket());
  for (const piece of ['first', 'sec', 'ond']) req.push(Buffer.from(piece));
  req.push(null);
  assert.deepEqual(await readOn(req), ['first', 'second']);
});

test('what waits is read though nothing more comes', () => {
  const req = new GatheringRequest(new Socket());
  for (const piece of ['first', 'second']) req.push(Buffer.from(piece));
  assert.deepEqual([String(req.read()), String(req.read())], ['first', 'second']);
});

test('large ones are read as they came, and in their place', async () => {
  const req = new GatheringRequest(new Socket());
  const large = 'x'.repeat(1024);
  for (const piece of [large, 'a', 'b', large, large, 'c']) req.push(Buffer.from(piece));
  req.push(null);
  assert.deepEqual(await readOn(req), [large, 'ab', large, large, 'c']);
});

test('small pieces that wait hold up the client as others do', () => {
  const req = new GatheringRequest(new Socket());
  const pieces = req.readableHighWaterMark / 1000;
  const taken = Array.from({ length: pieces + 1 }, () => req.push(Buffer.alloc(1000)));
  assert.equal(taken.indexOf(false), Math.ceil(pieces) - 1);
});

test('a body of declared length may come in pieces of any size, one in chunks in a thousand, or if they hold 16 bytes on average', () => {
  for (const [framing, bytes, code] of [
    ['content-length', 1, undefined],
    ['transfer-encoding', 15, 'body_malformed'],
    ['transfer-encoding', 16, undefined],
  ] as const) {
    const req = new GatheringRequest(new Socket());
    req.headers[framing] = 'x';
    for (let at = 0; at < 1000; at += 1) req.push(Buffer.alloc(bytes));
    assert.equal(brokenBy(req), undefined);
    for (let at = 0; at < 500; at += 1) req.push(Buffer.alloc(bytes));
    assert.equal(brokenBy(req)?.code, code);
  }
});
