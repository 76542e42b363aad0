import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Seats } from '../../../src/upstream/seats.ts';

test('seats go to those who wait, first come, first served, and to nobody who has left the line', () => {
  const seats = new Seats(2);
  const seated: string[] = [];
  const [ada, bob, cleo, dora, eve] = ['ada', 'bob', 'cleo', 'dora', 'eve'].map((name) => {
    const who = { name };
    seats.take(who, () => seated.push(name));
    return who;
  }) as [object, object, object, object, object];
  assert.deepEqual(seated, ['ada', 'bob']);
  assert.equal(seats.giveUp(cleo), true);
  assert.equal(seats.giveUp(cleo), false);
  assert.equal(seats.giveUp(bob), false);
  seats.leave(cleo);
  assert.deepEqual(seated, ['ada', 'bob']);
  seats.leave(ada);
  seats.leave(ada);
  assert.deepEqual(seated, ['ada', 'bob', 'dora']);
  assert.equal(seats.giveUp(dora), true);
  seats.leave(dora);
  assert.deepEqual(seated, ['ada', 'bob', 'dora', 'eve']);
  for (const who of [bob, eve]) seats.leave(who);
  seats.take(cleo, () => seated.push('cleo'));
  assert.equal(seated.at(-1), 'cleo');
});
