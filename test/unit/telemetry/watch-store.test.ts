import assert from 'node:assert/strict';
import { test, type TestContext } from 'node:test';
import type { CellsOrder, DrawAnswer, DrawOrder, PlaceAnswer } from '../../../src/stores/ledger.ts';
import { StoreUnavailable, Unreadable } from '../../../src/stores/store-unavailable.ts';
import type { Store } from '../../../src/stores/store.ts';
import { createLogger } from '../../../src/telemetry/log.ts';
import { createMetrics } from '../../../src/telemetry/metrics.ts';
import { watchStore } from '../../../src/telemetry/watch-store.ts';

/** Watches a store of which only these parts are there, with what is logged of it. */
function watch(parts: object) {
  const lines: { msg: string; reason?: string }[] = [];
  const logger = createLogger('info', { write: (line: string) => void lines.push(JSON.parse(line)) });
  const metrics = createMetrics();
  const store = { keys: {}, ledger: {}, ...parts } as unknown as Store;
  return { watched: watchStore(store, metrics, logger), lines, metrics };
}

/** What is told of a store that gives these reasons at these seconds, and answers where there is none. */
async function toldOf(
  t: TestContext,
  reasons: readonly (readonly [at: number, reason: string | undefined])[],
): Promise<readonly string[]> {
  let now = 0;
  t.mock.method(performance, 'now', () => now);
  let reason: string | undefined;
  async function ping(): Promise<void> {
    if (reason !== undefined) throw new StoreUnavailable(reason, { mayHaveHappened: false });
  }
  const { watched, lines } = watch({ ping });
  for (const [at, said] of reasons) {
    now = at * 1000;
    reason = said;
    await watched.ping().catch(() => undefined);
  }
  return lines.map((line) => line.reason ?? line.msg);
}

test('each reason of an outage is told once, and no two within five seconds', async (t) => {
  const told = await toldOf(t, [
    [0, 'gone'],
    [1, 'another'],
    [6, 'gone'],
    [6, 'another'],
    [12, 'gone'],
    [12, 'another'],
    [12, undefined],
    [20, 'gone'],
    [21, undefined],
    [22, 'gone'],
    [23, undefined],
  ]);
  assert.deepEqual(
    told,
    ['gone', 'another', 'the store answers again', 'gone', 'the store answers again'],
    'the end of an outage that was not told is not told',
  );
});

test('an outage for another reason than the last is told however soon it follows', async (t) => {
  const told = await toldOf(t, [
    [0.5, 'gone'],
    [1, undefined],
    [1.5, 'full'],
    [2, undefined],
    [2.5, 'gone'],
    [3, undefined],
    [3.5, 'full'],
    [4, undefined],
  ]);
  const back = 'the store answers again';
  assert.deepEqual(told, ['gone', back, 'full', back]);
});

test('a reason that was told shortly before an outage for another is told in that, too', async (t) => {
  const told = await toldOf(t, [
    [10, 'gone'],
    [10.5, undefined],
    [11, 'full'],
    [12, 'gone'],
    [16, 'gone'],
    [30, 'gone'],
  ]);
  assert.deepEqual(told, ['gone', 'the store answers again', 'full', 'gone']);
});

test('each call is timed, and counted as an error if it was one', async (t) => {
  let now = 1000;
  t.mock.method(performance, 'now', () => now);
  let fails = false;
  async function ping(): Promise<void> {
    now += 250;
    if (fails) throw new StoreUnavailable('gone', { mayHaveHappened: false });
  }
  const { watched, metrics } = watch({ ping });
  const figures = async (name: string): Promise<readonly string[]> =>
    (await metrics.registry.metrics())
      .split('\n')
      .flatMap((line) => (line.startsWith(`gatehouse_store_${name}`) ? (line.split(' ').at(-1) ?? []) : []));
  assert.ok((await figures('errors_total{operation="draw"}')).includes('0'));
  await watched.ping();
  assert.deepEqual(await figures('errors_total{operation="ping"}'), ['0']);
  assert.deepEqual(await figures('duration_seconds_sum{operation="ping"}'), ['0.25']);
  fails = true;
  await assert.rejects(watched.ping());
  assert.deepEqual(await figures('errors_total{operation="ping"}'), ['1']);
  assert.deepEqual(await figures('duration_seconds_sum{operation="ping"}'), ['0.5']);
});

test('an outage of the whole store is over when any part of it answers', async () => {
  const gone = new StoreUnavailable('gone', { mayHaveHappened: false });
  const ping = () => Promise.reject(gone);
  const { watched, lines } = watch({ ledger: { draw: async () => undefined }, ping });
  await assert.rejects(watched.ping());
  await watched.ledger.draw({} as DrawOrder);
  assert.equal(lines[1]?.msg, 'the store answers again');
});

test('what the store holds that cannot be read is no outage, and is told every five seconds at most', async (t) => {
  let now = 0;
  t.mock.method(performance, 'now', () => now);
  let spoilt: string | undefined;
  async function ping(): Promise<void> {
    if (spoilt !== undefined) throw new Unreadable(spoilt);
  }
  const { watched, lines } = watch({ ping });
  for (const [at, id] of [
    [0, 'one'],
    [0, undefined],
    [4, 'two'],
    [5, 'two'],
    [5, undefined],
  ] as const) {
    now = at * 1000;
    spoilt = id;
    await watched.ping().catch(() => undefined);
  }
  assert.deepEqual(
    lines.map(({ msg, reason }) => [msg, reason]),
    [
      ['the store holds what cannot be read', 'one'],
      ['the store holds what cannot be read', 'two'],
    ],
  );
});

test('a feed of changes that cannot be read is an outage, for it is everybody’s', async () => {
  const feed = createFeed(() => Promise.reject(new Unreadable('the feed is none')));
  const { watched, lines } = watch({ keys: feed });
  watched.keys.watch(() => undefined);
  await assert.rejects(feed.read());
  assert.equal(lines[0]?.msg, 'the store does not answer');
});

test('a fault of ours is no outage', async () => {
  const fault = new TypeError('a fault');
  const ping = () => Promise.reject(fault);
  const { watched, lines } = watch({ ping });
  await assert.rejects(watched.ping(), fault);
  assert.deepEqual(lines, []);
});

test('a store that answers, but tells of no changes of keys, is no good until it does', async () => {
  const why = new StoreUnavailable('no permission', { mayHaveHappened: false });
  let fails = true;
  const feed = createFeed(async () => {
    if (fails) throw why;
  });
  let isAway = false;
  async function probe(): Promise<void> {
    if (isAway) throw why;
  }
  const { watched } = watch({ keys: feed, probe });
  watched.keys.watch(() => undefined);
  await assert.rejects(feed.read(), why);
  await assert.rejects(watched.probe(), why);
  fails = false;
  await feed.read();
  await watched.probe();
  isAway = true;
  await assert.rejects(watched.probe(), why);
});

test('an outage of what takes room is not over when room is given back, nobody gets any, or a question is answered', async () => {
  let full = true;
  let answer: PlaceAnswer = 'entered';
  const ledger = {
    enter: async () => {
      if (full && answer === 'entered')
        throw new StoreUnavailable('no memory is left', { mayHaveHappened: false });
      return answer;
    },
    draw: async () => draws.shift(),
    takeCells: async () => ({ kind: 'too_fast', retryInMs: 1, now: 0 }),
    leave: async () => undefined,
    readTime: async () => 0,
    readUsage: async () => [],
  };
  const draws: DrawAnswer[] = [
    { kind: 'exhausted', used: [], now: 0 },
    { kind: 'not_current', now: 0 },
  ];
  const keys = {
    findKey: async () => undefined,
    readKey: async () => undefined,
    listKeys: async () => [],
    listAudit: async () => [],
  };
  const { watched, lines } = watch({ keys, ledger, ping: async () => undefined });
  const enter = () => watched.ledger.enter({ keyId: 'ada', placeId: 'a', limit: 1, expiresInMs: 1000 });
  await assert.rejects(enter());
  await watched.ledger.leave('ada', 'b');
  await watched.ledger.readTime('ada');
  await watched.ledger.readUsage('ada', []);
  await watched.keys.findKey('digest');
  await watched.keys.readKey('ada');
  await watched.keys.listKeys('', 1);
  await watched.keys.listAudit(undefined, 1);
  await watched.ping();
  await watched.ledger.draw({} as DrawOrder);
  await watched.ledger.draw({} as DrawOrder);
  await watched.ledger.takeCells({} as CellsOrder);
  answer = 'full';
  await enter();
  assert.equal(lines.length, 1);
  answer = 'entered';
  full = false;
  await enter();
  assert.equal(lines[1]?.msg, 'the store answers again');
});

test('an outage of one part is not over when another answers again', async () => {
  const failing = new Set<string>();
  const attempt = async (operation: string): Promise<void> => {
    if (failing.has(operation)) throw new StoreUnavailable(operation, { mayHaveHappened: false });
  };
  const feed = createFeed(() => attempt('read'));
  const { watched, lines } = watch({ keys: feed, ledger: { draw: () => attempt('draw') } });
  watched.keys.watch(() => undefined);
  const draw = () => watched.ledger.draw({} as DrawOrder);
  failing.add('read').add('draw');
  await assert.rejects(feed.read());
  await assert.rejects(draw());
  failing.delete('draw');
  await draw();
  assert.equal(lines.length, 1);
  failing.delete('read');
  await feed.read();
  assert.equal(lines[1]?.msg, 'the store answers again');
});

/** The changes of keys, which are read when the test says so. */
function createFeed(reading: () => Promise<void>) {
  let read: (() => Promise<void>) | undefined;
  return {
    watch(_: unknown, through: (reading: () => Promise<void>) => Promise<void>) {
      read = () => through(reading);
      return () => undefined;
    },
    read: async () => read?.(),
  };
}
