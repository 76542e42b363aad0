import assert from 'node:assert/strict';
import { test } from 'node:test';
import { systemClock } from '../../../src/waiting/clock.ts';
import { turnsFor, WaitingRoom } from '../../../src/waiting/waiting-room.ts';
import { until } from '../../helpers/poll.ts';
import { createTurnableClock } from '../../helpers/turnable-clock.ts';

function openRoom(turns = 0) {
  const clock = createTurnableClock();
  const late: string[] = [];
  const room = new WaitingRoom<string>({
    clock,
    waitMs: 100,
    extraTurns: turns,
    onLate: (guest) => void late.push(guest),
  });
  return { clock, late, room };
}

test('each guest has the same time, and one timer serves them all', async () => {
  const { clock, late, room } = openRoom();
  room.enter('ada');
  await clock.pass(30);
  room.enter('bob');
  room.enter('cleo');
  assert.equal(clock.timers, 1);
  await clock.pass(69);
  assert.deepEqual(late, []);
  await clock.pass(1);
  assert.deepEqual(late, ['ada']);
  await clock.pass(29);
  assert.deepEqual(late, ['ada']);
  await clock.pass(1);
  assert.deepEqual(late, ['ada', 'bob', 'cleo']);
  assert.equal(clock.timers, 0);
});

test('who has left is not turned out, and leaves once', async () => {
  const { clock, late, room } = openRoom();
  const ada = room.enter('ada');
  room.enter('bob');
  assert.deepEqual([ada.leave(), ada.leave()], [true, false]);
  await clock.pass(100);
  assert.deepEqual(late, ['bob']);
  const cleo = room.enter('cleo');
  await clock.pass(100);
  assert.deepEqual(late, ['bob', 'cleo']);
  assert.equal(cleo.leave(), false);
});

test('who is late may still leave in the turns that follow, and who comes in them is not late', async () => {
  const { clock, late, room } = openRoom(2);
  const ada = room.enter('ada');
  room.enter('bob');
  clock.after(100, () => {
    // Behind the look of the room, and before its two turns are over.
    ada.leave();
    room.enter('cleo');
  });
  await clock.pass(100);
  assert.deepEqual(late, ['bob']);
  await clock.pass(99);
  assert.deepEqual(late, ['bob']);
  await clock.pass(1);
  assert.deepEqual(late, ['bob', 'cleo']);
});

test('who is asked for at the end of a turn has all their time from then, unless they have left by then', async () => {
  const clock = createTurnableClock();
  const beginning: (() => void)[] = [];
  const endTurn = (): void => {
    for (const begin of beginning.splice(0)) begin();
  };
  const late: string[] = [];
  const room = new WaitingRoom<string>({
    clock: { ...clock, whenAllIsRead: (begin) => void beginning.push(begin) },
    waitMs: 100,
    extraTurns: 0,
    onLate: (guest) => void late.push(guest),
  });
  room.enter('ada');
  endTurn();
  await clock.pass(99);
  room.enter('bob');
  room.enter('cleo').leave();
  await clock.pass(1);
  assert.deepEqual([late, clock.timers], [['ada'], 0]);
  endTurn();
  await clock.pass(99);
  assert.deepEqual(late, ['ada']);
  await clock.pass(1);
  assert.deepEqual(late, ['ada', 'bob']);
});

test('who waits for what comes of a call hears of the call first, however the turns fall', async () => {
  const told: string[] = [];
  const open = (name: keyof typeof turnsFor): WaitingRoom<string> =>
    new WaitingRoom({
      clock: systemClock,
      waitMs: 20,
      extraTurns: turnsFor[name],
      onLate: (guest) => void told.push(`${name} ${guest}`),
    });
  const rooms = { caller: open('caller'), call: open('call') };
  const rounds = 20;
  for (let round = 0; round < rounds; round += 1) {
    rooms.caller.enter(String(round));
    rooms.call.enter(String(round));
    const startedAt = performance.now();
    // Turns of all lengths.
    await until(() => performance.now() - startedAt > round * 1.7);
  }
  await until(() => told.length === 2 * rounds);
  const places = (name: string): number[] =>
    Array.from({ length: rounds }, (_, round) => told.indexOf(`${name} ${round}`));
  const callers = places('caller');
  assert.ok(places('call').every((place, round) => place !== -1 && place < (callers[round] ?? -1)));
});
