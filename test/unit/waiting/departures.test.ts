import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setImmediate as endOfTurn } from 'node:timers/promises';
import { depart, isJammed, leaveRoom, whenThereIsRoom } from '../../../src/waiting/departures.ts';
import { keepJammed } from '../../helpers/keep-jammed.ts';

test('who waits to leave does so in order, and only so many in one turn', async () => {
  const left: number[] = [];
  for (let i = 0; i < 70; i += 1) depart(() => left.push(i));
  assert.equal(left.length, 0);
  for (const count of [32, 64, 70]) {
    await endOfTurn();
    assert.equal(left.length, count);
  }
  assert.deepEqual(
    left,
    left.toSorted((one, other) => one - other),
  );
});

test('three times as many as leave in one turn are a jam', () => {
  for (let i = 0; i < 95; i += 1) depart(() => undefined);
  assert.equal(isJammed(), false);
  depart(() => undefined);
  assert.equal(isJammed(), true);
});

test('a few go on in each turn of a jam, then as many at once as there is room for, and nobody is left', async (t) => {
  const endJam = keepJammed(t, 0);
  const wentOn: number[] = [];
  let turn = 0;
  for (let i = 0; i < 500; i += 1) whenThereIsRoom(() => wentOn.push(turn));
  for (; turn < 10; turn += 1) {
    assert.equal(wentOn.length, turn * 8);
    await endOfTurn();
  }

  endJam();
  for (; wentOn.length < 500; turn += 1) await endOfTurn();
  const together = Map.groupBy(wentOn, (at) => at);
  const most = Math.max(...together.values().map(({ length }) => length));
  assert.ok(most <= 96, `${most} went on at once`);
});

test('in a jam another goes on in the next turn for each who went on and has left', async (t) => {
  keepJammed(t, 0);
  let wentOn = 0;
  for (let i = 0; i < 500; i += 1)
    whenThereIsRoom(() => {
      wentOn += 1;
      leaveRoom();
    });
  for (const count of [8, 8 + 16, 8 + 16 + 24]) {
    await endOfTurn();
    assert.equal(wentOn, count);
  }
});
