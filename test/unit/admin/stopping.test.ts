import assert from 'node:assert/strict';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { test } from 'node:test';
import { Api, type ApiParts } from '../../../src/admin/api.ts';
import { Stopping } from '../../../src/admin/stopping.ts';
import { memoryUsed } from '../../helpers/collect-garbage.ts';

const lines = new Stopping();
const api = new Api({} as ApiParts);
const [req, res] = [{ socket: {} } as IncomingMessage, { headersSent: true } as ServerResponse];

for (const { what, times, once } of [
  { what: 'read', times: 10_000, once: () => lines.orStop(async () => undefined) },
  { what: 'answered', times: 3000, once: () => api.answer(req, res, undefined) },
]) {
  test(`of a request that has been ${what} nothing is kept, however long the gateway runs`, async () => {
    // What is compiled on the way stays, too, but in each of four rounds something would stay of every request alone.
    const held: number[] = [];
    for (let round = 0; round < 5; round += 1) {
      for (let at = 0; at < times; at += 1) await once();
      held.push(memoryUsed());
    }
    const grown = Math.min(...held.slice(1).map((bytes, at) => bytes - (held[at] ?? 0)));
    assert.ok(grown < 500_000, `${grown} bytes`);
  });
}

for (const [name, end] of [
  ['are no longer wanted', 'break'],
  ['come while the gateway stops', 'stop'],
] as const) {
  test(`the source of pieces that ${name} is told, or the rest of the request could not be read past it`, async () => {
    const stopping = new Stopping();
    const { promise: second, resolve: sendSecond } = Promise.withResolvers<void>();
    let isLeft = false;
    async function* source(): AsyncGenerator<number> {
      try {
        yield 1;
        await second;
        yield 2;
      } finally {
        isLeft = true;
      }
    }
    const seen: number[] = [];
    const reading = (async () => {
      for await (const piece of stopping.untilBegun(source())) {
        seen.push(piece);
        if (end === 'break') break;
      }
    })();
    if (end === 'stop') {
      await new Promise(setImmediate);
      stopping.begin();
      await assert.rejects(reading, { message: 'The gateway is stopping' });
      sendSecond();
      await new Promise(setImmediate);
    } else await reading;
    assert.deepEqual([seen, isLeft], [[1], true]);
  });
}
