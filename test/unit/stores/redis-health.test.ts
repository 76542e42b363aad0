import assert from 'node:assert/strict';
import { EventEmitter } from 'node:events';
import { test } from 'node:test';
import type { Client } from '../../../src/stores/redis/client/client.ts';
import { NeverSent } from '../../../src/stores/redis/failures.ts';
import { Breaker, Health } from '../../../src/stores/redis/health.ts';
import { replyError } from '../../helpers/reply-error.ts';

const closed = 'Redis closed the connection';

test('why there is no connection is what was heard of it last, and nothing once Redis has been well', () => {
  const { client, health } = scene({ status: 'connecting' });
  const why = (): unknown => factsOf(health.whyNotAsk(undefined), 'Redis is not connected: ');
  assert.deepEqual(why(), ['here does not answer', true]);
  assert.equal(health.whyNotAsk(undefined)?.mayHaveHappened, false);
  client.emit('loading');
  assert.deepEqual(why(), ['Redis is loading its data', true]);
  const call = { breaker: undefined, waiting: 1 };
  const noPassword = ['Redis wants a password', false];
  client.emit('error', replyError('NOAUTH Authentication required.'));
  assert.deepEqual(why(), noPassword);
  // What tells no reason leaves the one that is known.
  client.emit('error', new NeverSent());
  health.failed(call, new NeverSent());
  assert.deepEqual(why(), noPassword);
  // What is wrong with one call is no reason for others.
  health.failed(call, replyError('WRONGTYPE Operation against a key'));
  assert.deepEqual(why(), noPassword);
  client.emit('ready');
  assert.deepEqual(why(), [closed, true]);
  health.failed(call, replyError('OOM command not allowed'));
  assert.deepEqual(why(), ['Redis has no memory left (maxmemory)', false]);
  health.answered(call);
  assert.deepEqual(why(), [closed, true]);
});

test('a breaker opens after the failures in a row, lets one call try now and then, and closes with the first success', (t) => {
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

test('a Redis that is silent or away is not asked for a moment, until it has been well', () => {
  const { client, health } = scene({});
  const breaker = health.breakerOf('key');
  // One may try now and then.
  const why = (): unknown =>
    factsOf(health.whyNotAsk(breaker) ?? health.whyNotAsk(breaker), 'Redis is not asked for a moment: ');
  const silent = health.wasSilent({ breaker, waiting: 5 }, 9);
  assert.deepEqual(factsOf(silent, ''), ['Redis did not answer within 9 ms', true]);
  assert.equal(silent.mayHaveHappened, true);
  assert.deepEqual(why(), ['Redis did not answer within 9 ms', true]);
  client.emit('ready');
  assert.equal(why(), undefined);
  health.failed({ breaker, waiting: 4 }, new Error('Protocol error'));
  assert.equal(why(), undefined);
  health.failed({ breaker, waiting: 1 }, new Error('Protocol error'));
  assert.deepEqual(why(), ['Redis closed the connection or cannot be reached', false]);
  health.answered({ breaker, waiting: 1 });
  assert.equal(why(), undefined);
  // A refusal is an answer.
  health.failed({ breaker, waiting: 4 }, new Error('Protocol error'));
  health.failed({ breaker, waiting: 9 }, replyError('OOM command not allowed'));
  health.failed({ breaker, waiting: 4 }, new Error('Protocol error'));
  assert.equal(why(), undefined);
});

test('of a cluster the node that fails is not asked, and who serves its slots is looked for without haste', () => {
  let lookedFor = 0;
  const slots = Array.from({ length: 16_384 }, (_, slot) => [`node-${slot % 3}:6379`, 'replica:6379']);
  const { client, health } = scene({ isCluster: true, slots, refreshSlotsCache: () => (lookedFor += 1) });
  const breakers = Array.from({ length: 500 }, (_, key) => health.breakerOf(`${key}`));
  assert.equal(new Set(breakers).size, 3);
  const [breaker] = breakers;
  for (const waiting of [4, 1]) health.failed({ breaker, waiting }, new Error('Connection is closed.'));
  assert.equal(lookedFor, 1);
  const isNotAsked = (one: typeof breaker): boolean =>
    (health.whyNotAsk(one) ?? health.whyNotAsk(one)) !== undefined;
  assert.deepEqual([...new Set(breakers.filter(isNotAsked))], [breaker]);
  // Another node has taken over.
  for (const nodes of slots) nodes[0] = 'another:6379';
  assert.equal(isNotAsked(health.breakerOf('0')), false);
  client.emit('ready');
  slots.length = 0;
  assert.equal(isNotAsked(health.breakerOf('0')), false, 'as long as nobody knows who serves them');
});

test('one Redis is one thing, and nobody looks for another', () => {
  const { health } = scene({ refreshSlotsCache: () => assert.fail() });
  const breaker = health.breakerOf('a');
  health.failed({ breaker, waiting: 9 }, new Error('Connection is closed.'));
  assert.equal(health.breakerOf('b'), breaker);
});

/** What it says after how it begins, and whether it may pass. */
function factsOf(
  error: { message: string; isTemporary: boolean } | undefined,
  begins: string,
): [why: string, isTemporary: boolean] | undefined {
  if (error === undefined) return undefined;
  assert.ok(error.message.startsWith(begins), error.message);
  return [error.message.slice(begins.length), error.isTemporary];
}

function scene(over: object): { client: EventEmitter; health: Health } {
  const client = Object.assign(new EventEmitter(), { status: 'ready', isCluster: false, ...over });
  return { client, health: new Health(client as unknown as Client, 'here') };
}
