import assert from 'node:assert/strict';
import { IncomingMessage } from 'node:http';
import { Socket } from 'node:net';
import { test } from 'node:test';
import { setImmediate as turn } from 'node:timers/promises';
import { BodyMemory } from '../../../src/bodies/body-memory.ts';
import { collectBody, takeArrived } from '../../../src/bodies/collect-body.ts';
import { Refusal } from '../../../src/refusals.ts';
import { breakBody, brokenBy } from '../../../src/wire/broken-body.ts';
import { fakeTimers } from '../../helpers/fake-timers.ts';

const memoryBytes = 10;

function arrive(sizeMax: number) {
  const req = new IncomingMessage(new Socket());
  const memory = new BodyMemory(memoryBytes);
  const visit = { bytesIn: 0 };
  const body = collectBody(req, sizeMax, { rooms: { memory, requestMs: 60_000 }, visit });
  return { req, memory, visit, body };
}

/** Whether nothing of the memory is taken. */
const isFree = (memory: BodyMemory): boolean => memory.take(memoryBytes) && !memory.take(1);

test('a body of exactly the limit is collected, and its memory stays taken', async () => {
  const { req, memory, visit, body } = arrive(6);
  for (const piece of ['abc', 'def', null]) req.push(piece);
  assert.equal(String(await body), 'abcdef');
  assert.equal(visit.bytesIn, 6);
  assert.deepEqual([memory.take(5), memory.take(4)], [false, true]);
});

test('a body that has come in time is not late afterwards', async (t) => {
  const pass = fakeTimers(t);
  const { req, body } = arrive(6);
  for (const piece of ['abc', null]) req.push(piece);
  await body;
  pass(60_000);
  await turn();
  assert.equal(brokenBy(req), undefined);
});

test('what a body that finds no memory has held is there for those whose pieces came with its last', async () => {
  const memory = new BodyMemory(memoryBytes);
  const bodies = ['first', 'second'].map(() => {
    const req = new IncomingMessage(new Socket());
    return {
      req,
      body: collectBody(req, 100, { rooms: { memory, requestMs: 60_000 }, visit: { bytesIn: 0 } }),
    };
  });
  const [first, second] = bodies as [(typeof bodies)[0], (typeof bodies)[0]];
  const refused = assert.rejects(first.body, { code: 'overloaded' });
  for (const { req } of bodies) req.push('abcd');
  await turn();
  for (const { req } of bodies) req.push('efgh');
  second.req.push(null);
  await refused;
  assert.equal(String(await second.body), 'abcdefgh');
});

const ends: Record<string, readonly [code: string, end: (req: IncomingMessage) => void]> = {
  'is a byte too large': ['body_too_large', (req) => req.push('gh')],
  'finds no memory for its end': ['overloaded', (req) => req.push('defghijk')],
  'breaks off': ['client_gone', (req) => req.destroy()],
  'makes no sense': ['request_malformed', (req) => breakBody(req, new Refusal('request_malformed'))],
};
for (const [name, [code, end]] of Object.entries(ends)) {
  test(`the memory of a body that ${name} is given back`, async () => {
    const { req, memory, body } = arrive(code === 'overloaded' ? 100 : 4);
    req.push('abc');
    await turn();
    end(req);
    await assert.rejects(body, { code });
    assert.ok(isFree(memory));
    // What still comes is nobody's.
    req.push('more');
    await turn();
    breakBody(req, new Refusal('request_malformed'));
    req.destroy(new Error('reset'));
    await turn();
    assert.ok(!memory.take(1));
  });
}

test('a body that has come whole is taken at once', () => {
  const req = new IncomingMessage(new Socket());
  const memory = new BodyMemory(memoryBytes);
  for (const piece of ['abc', 'def']) req.push(piece);
  assert.equal(takeArrived(req, 7, memory), undefined, 'not whole');
  assert.equal(takeArrived(req, undefined, memory), undefined, 'of a length that is not known');
  assert.equal(takeArrived(req, 6, new BodyMemory(5)), undefined, 'no memory');
  assert.ok(isFree(memory));
  memory.giveBack(memoryBytes);
  assert.equal(String(takeArrived(req, 6, memory)), 'abcdef');
  assert.deepEqual([memory.take(5), memory.take(4)], [false, true]);
});

test('a body is not taken whose client has left, or that somebody reads', async () => {
  const memory = new BodyMemory(memoryBytes);
  for (const lose of [(req: IncomingMessage) => req.destroy(), (req: IncomingMessage) => req.resume()]) {
    const req = new IncomingMessage(new Socket());
    req.push('abc');
    lose(req);
    assert.equal(takeArrived(req, 3, memory), undefined);
  }
  await turn();
  assert.ok(isFree(memory));
});
