import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { array, assert as check, constant, integer, nat, oneof, property, record } from 'fast-check';
import { BoundedMap } from '../../../src/collections/bounded-map.ts';
import { collectGarbage } from '../../helpers/collect-garbage.ts';

const sizeMax = 4;
const key = integer({ min: 0, max: 9 });
const steps = array(
  oneof(
    { weight: 8, arbitrary: record({ does: constant('set' as const), key, value: nat() }) },
    { weight: 3, arbitrary: record({ does: constant('delete' as const), key }) },
    { weight: 1, arbitrary: record({ does: constant('clear' as const) }) },
    { weight: 1, arbitrary: record({ does: constant('deleteOdd' as const) }) },
  ),
  { maxLength: 100 },
);

test('it holds what was set last, whatever is set anew, deleted or cleared between', () => {
  check(
    property(steps, (all) => {
      const map = new BoundedMap<number, number>(sizeMax);
      let model: (readonly [key: number, value: number])[] = [];
      for (const step of all) {
        if (step.does === 'clear') {
          map.clear();
          model = [];
        } else if (step.does === 'deleteOdd') {
          map.deleteWhere((value) => value % 2 === 1);
          model = model.filter(([, value]) => value % 2 === 0);
        } else {
          model = model.filter(([one]) => one !== step.key);
          if (step.does === 'delete') map.delete(step.key);
          else {
            map.set(step.key, step.value);
            model = [...model, [step.key, step.value] as const].slice(-sizeMax);
          }
        }
        for (let one = 0; one <= 9; one += 1) assert.equal(map.get(one), new Map(model).get(one));
      }
    }),
  );
});

// Asking the map for its first key each time takes half a minute here, this half a second.
test('to forget one of very many costs no more than one of few', { timeout: 10_000 }, async () => {
  const many = 100_000;
  const map = new BoundedMap<number, number>(many);
  for (let at = 0; at < 5 * many; at += 1) {
    map.set(at, at);
    if (at % 1000 === 0) await nextTurn();
  }
  assert.equal(map.get(4 * many - 1), undefined);
  assert.equal(map.get(4 * many), 4 * many);
});

for (const [how, clears] of [
  ['set again and again', false],
  ['cleared again and again', true],
] as const) {
  test(`what has made room is let go, though nothing more makes room in a map that is ${how}`, async () => {
    const map = new BoundedMap<number, object>(sizeMax);
    for (let at = 0; at <= sizeMax; at += 1) map.set(at, {});
    const gone: WeakRef<object>[] = [];
    for (let round = 0; round < 1000; round += 1) {
      if (clears) map.clear();
      const value = {};
      map.set(1 + (round % sizeMax), value);
      gone.push(new WeakRef(value));
    }
    await nextTurn();
    collectGarbage();
    const kept = gone.filter((value) => value.deref() !== undefined).length;
    assert.ok(kept < 100, `${kept} of ${gone.length}`);
  });
}
