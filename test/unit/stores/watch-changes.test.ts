import assert from 'node:assert/strict';
import { test, type TestContext } from 'node:test';
import { setImmediate } from 'node:timers/promises';
import type { KeyEvent } from '../../../src/stores/key-store.ts';
import { eventsPerReading, watchChanges, type FeedAnswer } from '../../../src/stores/watch-changes.ts';

const missed: KeyEvent = { kind: 'missed' };

test('the first reading says only where the feed stands, and that changes may have been missed', async (t) => {
  const { events, cursors, answer, poll } = scene(t);
  await answer({ cursor: 'a', events: [changed('unseen')] });
  assert.deepEqual(events, [missed]);
  await poll();
  await answer({ cursor: 'b', events: [changed('1'), { kind: 'added' }] });
  assert.deepEqual(events.splice(0), [missed, changed('1'), { kind: 'added' }]);
  await poll();
  await answer({ cursor: 'c', events: undefined });
  assert.deepEqual(events.splice(0), [missed]);
  await poll();
  await answer({ cursor: 'c', events: [] });
  assert.deepEqual(events, []);
  assert.deepEqual(cursors, [undefined, 'a', 'b', 'c']);
});

test('one reading at a time, and one more for what was heard during it', async (t) => {
  const { cursors, answer, news, poll } = scene(t);
  news();
  await poll();
  assert.deepEqual(cursors, [undefined]);
  await answer({ cursor: 'a', events: [] });
  assert.deepEqual(cursors, [undefined, 'a']);
  await answer({ cursor: 'b', events: [] });
  assert.deepEqual(cursors, [undefined, 'a']);
  news();
  assert.deepEqual(cursors, [undefined, 'a', 'b']);
});

test('a full reading is followed by the next at once', async (t) => {
  const { cursors, answer, poll } = scene(t);
  const full = Array.from({ length: eventsPerReading }, () => changed('1'));
  await answer({ cursor: 'a', events: full });
  await poll();
  await answer({ cursor: 'b', events: full });
  await answer({ cursor: 'c', events: full.slice(1) });
  assert.deepEqual(cursors, [undefined, 'a', 'b']);
});

test('a failed reading is told, and the next goes on from where the last one ended', async (t) => {
  const { events, cursors, answer, fail, failures, poll } = scene(t);
  await answer({ cursor: 'a', events: [] });
  events.length = 0;
  await poll();
  await fail();
  assert.equal(failures.length, 1);
  assert.deepEqual(events, [{ kind: 'added' }], 'there may be new keys');
  assert.deepEqual(cursors, [undefined, 'a']);
  await poll();
  assert.deepEqual(cursors, [undefined, 'a', 'a']);
});

test('who has stopped hears nothing more, not even of a failure', async (t) => {
  for (const late of ['answer', 'fail'] as const) {
    const { events, cursors, failures, stop, poll, news, isHeard, ...feed } = scene(t);
    assert.equal(isHeard(), true);
    stop();
    assert.equal(isHeard(), false);
    await feed[late]({ cursor: 'a', events: [changed('1')] });
    news();
    await poll();
    assert.deepEqual([events, failures, cursors], [[], [], [undefined]]);
  }
});

function changed(keyId: string): KeyEvent {
  return { kind: 'changed', keyId };
}

/** A feed whose readings the test answers one by one, and polls. */
function scene(t: TestContext) {
  t.mock.timers.reset();
  t.mock.timers.enable({ apis: ['setInterval'] });
  const events: KeyEvent[] = [];
  const cursors: (string | undefined)[] = [];
  const failures: unknown[] = [];
  let reading = Promise.withResolvers<FeedAnswer>();
  let news: (() => void) | undefined;
  let heard: (() => void) | undefined;
  const feed = {
    pollMs: 200,
    read: (cursor: string | undefined) => {
      cursors.push(cursor);
      reading = Promise.withResolvers();
      return reading.promise;
    },
    listen: (onNews: () => void) => {
      news = heard = onNews;
      return () => void (heard = undefined);
    },
  };
  const stop = watchChanges(
    feed,
    (event) => events.push(event),
    async (attempt) => {
      try {
        await attempt();
      } catch (error) {
        failures.push(error);
        throw error;
      }
    },
  );
  t.after(stop);
  return {
    events,
    cursors,
    failures,
    stop,
    news: () => news?.(),
    isHeard: () => heard !== undefined,
    answer: async (answer: FeedAnswer): Promise<void> => {
      reading.resolve(answer);
      await setImmediate();
    },
    fail: async (): Promise<void> => {
      reading.reject(new Error('away'));
      await setImmediate();
    },
    poll: async (): Promise<void> => {
      t.mock.timers.tick(200);
      await setImmediate();
    },
  };
}
