import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Breaker } from '../../../src/stores/redis/breaker.ts';

test('it opens after the failures in a row, lets one call try now and then, and closes with the first success', (t) => {
  let now = 1_000;
  t.mock.method(performance, 'now', () => now);
  const breaker = new Breaker();
  for (let call = 0; call < 4; call += 1) breaker.failed(1);
  breaker.succeeded();
  for (let call = 0; call < 4; call += 1) breaker.failed(1);
  assert.equal(breaker.admits(), true, 'a success in between counts');
  breaker.failed(1);
  assert.deepEqual([breaker.admits(), breaker.admits()], [false, false]);
  now += 200;
  assert.deepEqual([breaker.admits(), breaker.admits()], [true, false], 'one at a time');
  now += 100;
  breaker.failed(1);
  now += 199;
  assert.equal(breaker.admits(), false, 'a failed try begins the pause anew');
  now += 1;
  assert.equal(breaker.admits(), true);
  breaker.succeeded();
  assert.deepEqual([breaker.admits(), breaker.admits()], [true, true]);
});
