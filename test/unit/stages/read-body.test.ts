import assert from 'node:assert/strict';
import { IncomingMessage, ServerResponse } from 'node:http';
import { Socket } from 'node:net';
import { test } from 'node:test';
import { BodyMemory } from '../../../src/bodies/body-memory.ts';
import { noBody } from '../../../src/bodies/body.ts';
import { type BodyOrder, readBody } from '../../../src/stages/read-body.ts';
import { compileBodySchema } from '../../helpers/compile-body-schema.ts';

function scene(head: object, rule: object) {
  const req = new IncomingMessage(new Socket());
  const rooms = { memory: new BodyMemory(100), requestMs: 60_000 };
  const order = { head, rule, rooms, visit: { bytesIn: 0 } } as unknown as BodyOrder;
  return { req, order, read: async () => await readBody(new ServerResponse(req), order) };
}

for (const [name, head] of [
  ['of a declared length', { contentLength: 1, expectsContinue: false }],
  ['in chunks that waits to be invited', { contentLength: undefined, expectsContinue: true }],
] as const) {
  test(`a body ${name} is refused where there is none, without waiting for it`, async () => {
    const order = { head, rule: { kind: 'none' } } as BodyOrder;
    await assert.rejects(async () => readBody({} as ServerResponse, order), { code: 'body_unexpected' });
  });
}

const ends: Record<string, readonly [end: (req: IncomingMessage) => void, code: string | undefined]> = {
  'hold nothing': [(req) => req.push(null), undefined],
  'hold a byte': [(req) => [req.push('x'), req.push(null)], 'body_unexpected'],
  'break off': [(req) => req.destroy(), 'client_gone'],
};
for (const [name, [end, code]] of Object.entries(ends)) {
  test(`chunks that ${name}, where none is taken, are ${code ?? 'no body'}`, async () => {
    const { req, read } = scene({ contentLength: undefined, expectsContinue: false }, { kind: 'none' });
    const body = read();
    end(req);
    if (code === undefined) assert.equal(await body, noBody);
    else await assert.rejects(body, { code });
  });
}

test('only of a body that is called encoded is it said that this is not supported', async () => {
  for (const [contentEncoding, code] of [
    ['Identity', 'body_too_large'],
    ['gzip', 'content_encoding_unsupported'],
  ]) {
    const { read } = scene({ contentEncoding, contentLength: 2 }, { kind: 'any', sizeMax: 1 });
    await assert.rejects(read, { code });
  }
});

test('JSON may be as large as its limit, whether it says how large it is or not', async () => {
  const schema = { check: compileBodySchema({ type: 'object' }), onMismatch: 'refuse' };
  const rule = { kind: 'json', depthMax: 2, valuesMax: 9, schema };
  const text = '{"a":1}';
  for (const contentLength of [text.length, undefined]) {
    for (const [sizeMax, isTaken] of [
      [text.length, true],
      [text.length - 1, false],
    ] as const) {
      const head = { contentType: 'application/json', contentLength };
      const { req, order, read } = scene(head, { ...rule, sizeMax });
      req.push(text);
      if (contentLength === undefined) req.push(null);
      if (isTaken) assert.equal((await read()).length, text.length);
      else await assert.rejects(read, { code: 'body_too_large' });
      if (isTaken) assert.equal(order.visit.bytesIn, text.length);
    }
  }
});

test('JSON that is refused takes no memory from others', async () => {
  const rule = { kind: 'json', sizeMax: 100, depthMax: 2, valuesMax: 9, schema: undefined };
  const text = 'x'.repeat(100);
  const { req, order, read } = scene({ contentType: 'application/json', contentLength: text.length }, rule);
  req.push(text);
  await assert.rejects(read, { code: 'body_malformed' });
  assert.ok(order.rooms.memory.take(100));
});

test('a body that is not examined may say that it is as large as its limit, and no larger', async () => {
  for (const contentLength of [7, 8]) {
    const { req, read } = scene(
      { contentLength },
      { kind: 'any', sizeMax: 7, arrival: { timeoutMs: 60_000 } },
    );
    req.push('x'.repeat(7));
    req.push(null);
    if (contentLength === 7) assert.equal((await read()).length, 7);
    else await assert.rejects(read, { code: 'body_too_large' });
  }
});
