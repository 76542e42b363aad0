import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer, request, type IncomingMessage } from 'node:http';
import { Socket } from 'node:net';
import { text } from 'node:stream/consumers';
import { describe, it, test } from 'node:test';
import { setImmediate as turn } from 'node:timers/promises';
import { brokenBy } from '../../../src/wire/broken-body.ts';
import { createRequestClass } from '../../../src/wire/gathering-request.ts';
import { listen } from '../../helpers/listen.ts';

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

test('a body of declared length may come in pieces of any size, one in chunks may not, read or unread', () => {
  for (const [framing, code] of [
    ['content-length', undefined],
    ['transfer-encoding', 'body_malformed'],
  ] as const) {
    const req = new GatheringRequest(new Socket());
    req.headers[framing] = 'x';
    for (let at = 0; at < 1000; at += 1) req.push(Buffer.from('x'));
    assert.equal(brokenBy(req), undefined);
    for (let at = 0; at < 500; at += 1) req.push(Buffer.from('x'));
    assert.equal(brokenBy(req)?.code, code);
  }
});

describe('a body that comes while it is read now and then arrives whole', () => {
  const sizes = [1, 30, 1023, 1024, 5000, 70_000];
  const pieces = Array.from({ length: 300 }, (_, at) =>
    Buffer.alloc(sizes[(at * 7) % sizes.length] ?? 0, 97 + (at % 26)),
  );
  const readers: Record<string, (req: IncomingMessage, take: (piece: Buffer) => void) => void> = {
    'by one that takes what comes': (req, take) => void req.on('data', take),
    'by one that pauses after each piece': (req, take) => {
      req.on('data', (piece: Buffer) => {
        take(piece);
        req.pause();
        setImmediate(() => req.resume());
      });
    },
    'by one that asks': (req, take) => {
      req.on('readable', () => {
        for (let piece = req.read(); piece !== null; piece = req.read()) take(piece as Buffer);
      });
    },
  };
  for (const [name, read] of Object.entries(readers)) {
    it(name, async (t) => {
      const server = createServer({ IncomingMessage: GatheringRequest }, (req, res) => {
        const taken: Buffer[] = [];
        req.on('end', () => res.end(Buffer.concat(taken)));
        setTimeout(read, 5, req, (piece: Buffer) => taken.push(piece));
      });
      const client = request({ port: await listen(t, server), method: 'POST' });
      for (const piece of pieces) {
        client.write(piece);
        await turn();
      }
      client.end();
      const [answer] = (await once(client, 'response')) as [IncomingMessage];
      assert.equal(await text(answer), Buffer.concat(pieces).toString());
    });
  }
});
