import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createBreaker } from '../../../src/stores/redis/breaker.ts';

test('it opens after the failures in a row, lets one call try now and then, and closes with the first success', () => {
  let now = 1_000;
  const breaker = createBreaker({ failuresMax: 3, coolMs: 100, clock: () => now });
  breaker.failed();
  breaker.failed();
  breaker.succeeded();
  breaker.failed();
  breaker.failed();
  assert.equal(breaker.admits(), true, 'a success in between counts');
  breaker.failed();
  assert.deepEqual([breaker.admits(), breaker.admits()], [false, false]);
  now += 100;
  assert.deepEqual([breaker.admits(), breaker.admits()], [true, false], 'one at a time');
  now += 50;
  breaker.failed();
  now += 60;
  assert.equal(breaker.admits(), false, 'a failed try begins the pause anew');
  now += 40;
  assert.equal(breaker.admits(), true);
  breaker.succeeded();
  assert.deepEqual([breaker.admits(), breaker.admits()], [true, true]);
});
