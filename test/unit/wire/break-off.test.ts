import assert from 'node:assert/strict';
import type { ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { test } from 'node:test';
import { endHalfClosed } from '../../../src/wire/break-off.ts';

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

function answerOf(answer: object): ServerResponse {
  const { writableEnded, answered, httpVersion } = { ...underWay, ...answer };
  return { writableEnded, req: { httpVersion, visit: { answered } } } as unknown as ServerResponse;
}
