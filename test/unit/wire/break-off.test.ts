import assert from 'node:assert/strict';
import { createServer, type ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { test } from 'node:test';
import { breakOff, endHalfClosed } from '../../../src/wire/break-off.ts';
import { listen } from '../../helpers/listen.ts';
import { openRaw, requestBytes } from '../../helpers/raw-socket.ts';

const underWay = { writableEnded: false, answered: 200, httpVersion: '1.0' };

const ways: readonly [name: string, answer: object | undefined, isReset: boolean][] = [
  ['an answer of unknown length under way', underWay, true],
  ['an answer under way that tells its end', { ...underWay, httpVersion: '1.1' }, false],
  ['an answer that has been written to its end', { ...underWay, writableEnded: true }, false],
  ['a refusal, or an answer that is still to come', { ...underWay, answered: undefined }, false],
  ['nothing under way', undefined, false],
];

for (const [name, answer, isReset] of ways) {
  test(`a client that ends its side before ${name} is ${isReset ? '' : 'not '}reset`, () => {
    let resets = 0;
    const socket = { resetAndDestroy: () => (resets += 1) } as unknown as Socket;
    endHalfClosed(socket, answer && answerOf(answer));
    assert.equal(resets, isReset ? 1 : 0);
  });
}

for (const [framing, headers] of [
  ['with a length', { 'Content-Length': 9 }],
  ['in chunks', {}],
] as const) {
  test(`an answer ${framing} that breaks off in the turn in which it began has begun for the client too`, async (t) => {
    const server = createServer((_, res) => {
      res.writeHead(200, headers).write('part');
      breakOff(res);
    });
    const client = await openRaw(t, await listen(t, server));
    client.write(requestBytes('GET /'));
    await client.receivedUntilClose();
    const [answer] = await client.responses(1);
    assert.deepEqual([answer?.status, answer?.text, answer?.complete], [200, 'part', false]);
    assert.equal(client.error, undefined);
  });
}

function answerOf(answer: object): ServerResponse {
  const { writableEnded, answered, httpVersion } = { ...underWay, ...answer };
  return { writableEnded, req: { httpVersion, visit: { answered } } } as unknown as ServerResponse;
}
