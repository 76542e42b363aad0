import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type Guest, Seats } from '../../../src/upstream/seats.ts';

test('seats go to those who wait, first come, first served, and to nobody who has left the line; a newcomer knows how many are ahead', () => {
  const seats = new Seats(2);
  const seated: string[] = [];
  const enter = (name: string): Guest => {
    const who = { hasSeat: false, spot: undefined, turnAway: assert.fail };
    seats.take(who, () => seated.push(name));
    return who;
  };
  const [ada, bob, cleo] = [enter('ada'), enter('bob'), enter('cleo')];
  const [dora, eve] = [enter('dora'), enter('eve')];
  assert.deepEqual(seated, ['ada', 'bob']);
  assert.equal(seats.ahead, 4);
  assert.equal(seats.giveUp(cleo), true);
  assert.equal(seats.giveUp(cleo), false);
  assert.equal(seats.giveUp(bob), false);
  assert.equal(seats.ahead, 3);
  seats.leave(cleo);
  assert.deepEqual(seated, ['ada', 'bob']);
  seats.leave(ada);
  seats.leave(ada);
  assert.deepEqual(seated, ['ada', 'bob', 'dora']);
  assert.deepEqual([ada.hasSeat, bob.hasSeat, dora.hasSeat, eve.hasSeat], [false, true, true, false]);
  assert.equal(seats.ahead, 2);
  seats.leave(dora);
  assert.deepEqual(seated, ['ada', 'bob', 'dora', 'eve']);
  assert.equal(seats.ahead, 1);
  seats.leave(bob);
  assert.equal(seats.ahead, 0);
  seats.leave(eve);
  seats.take(cleo, () => seated.push('cleo'));
  assert.equal(seated.at(-1), 'cleo');
});

test('a kept connection makes room for a new one only where there would be more of them than seats', () => {
  const seats = new Seats(3);
  const closed: string[] = [];
  const keep = (name: string, count: number): void => {
    const kept = { count, closeOne: () => void closed.push(`${name} ${kept.count--}`) };
    seats.watch(kept);
  };
  keep('buffered', 1);
  keep('streamed', 1);
  const enter = (): void =>
    seats.take({ hasSeat: false, spot: undefined, turnAway: assert.fail }, () => seats.makeRoom());
  enter();
  assert.deepEqual(closed, []);
  enter();
  assert.deepEqual(closed, ['buffered 1']);
  enter();
  assert.deepEqual(closed, ['buffered 1', 'streamed 1']);
});

test('who is turned away from the line is told why, and the next take their places', () => {
  const seats = new Seats(1);
  const told: unknown[] = [];
  const guest = (): Guest => {
    const who = {
      hasSeat: false,
      spot: undefined,
      turnAway: (reason: Error) => {
        seats.giveUp(who);
        told.push(reason.message);
      },
    };
    return who;
  };
  const first = guest();
  seats.take(first, () => told.push('seated'));
  for (let turn = 0; turn < 2; turn += 1) seats.take(guest(), assert.fail);
  seats.turnAway(new Error('closed'));
  assert.deepEqual(told, ['seated', 'closed', 'closed']);
  seats.take(guest(), () => told.push('next'));
  seats.leave(first);
  assert.equal(told.at(-1), 'next');
});
