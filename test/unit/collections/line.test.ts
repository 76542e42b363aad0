import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Line } from '../../../src/collections/line.ts';

interface Guest {
  readonly name: string;
}

const ada: Guest = { name: 'ada' };
const bob: Guest = { name: 'bob' };
const cleo: Guest = { name: 'cleo' };

test('who joins a line stands behind the others, and is taken from it in that order', () => {
  const line = new Line<Guest>();
  assert.equal(line.first, undefined);
  assert.equal(line.takeFirst(), undefined);
  for (const guest of [ada, bob, cleo]) line.join(guest);
  assert.deepEqual(line.guests(), [ada, bob, cleo]);
  assert.equal(line.first, ada);
  assert.deepEqual([line.takeFirst(), line.takeFirst()], [ada, bob]);
  line.join(ada);
  assert.deepEqual([line.takeFirst(), line.takeFirst(), line.takeFirst()], [cleo, ada, undefined]);
});

test('who leaves a line leaves once, wherever they stand', () => {
  for (const leaving of [0, 1, 2]) {
    const line = new Line<Guest>();
    const guests = [ada, bob, cleo];
    const spots = guests.map((guest) => line.join(guest));
    const spot = spots[leaving];
    assert.deepEqual(
      [spot?.isTaken, spot?.leave(), spot?.leave(), spot?.isTaken],
      [true, true, false, false],
    );
    assert.deepEqual(line.guests(), guests.toSpliced(leaving, 1));
    line.join(bob);
    assert.deepEqual(line.guests(), [...guests.toSpliced(leaving, 1), bob]);
  }
});

test('nothing of a line leads to who has left, nor from them to those who came next', () => {
  const line = new Line<Guest>();
  const [first, second, third] = [ada, bob, cleo].map((guest) => line.join(guest));
  assert.equal(line.takeFirst(), ada);
  second?.leave();
  for (const spot of [first, second]) {
    assert.equal(spot?.guest, undefined);
    assert.deepEqual([spot?.before, spot?.after], [spot, spot]);
  }
  assert.ok(third?.isTaken);
});
