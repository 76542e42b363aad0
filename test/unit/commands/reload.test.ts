import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Reloader } from '../../../src/commands/reload.ts';
import type { Config } from '../../../src/config/config.ts';
import { ConfigErrors } from '../../../src/config/problems.ts';
import { createLogger } from '../../../src/telemetry/log.ts';
import { until } from '../../helpers/poll.ts';
import { settle } from '../../helpers/turnable-clock.ts';

const fault = { file: 'gateway.yaml', line: 1, column: 1, path: '', message: 'is wrong' };

/** A gateway whose configuration is read when the test says so, and takes effect when the test lets it. */
function createScene(
  over: Partial<Config> = {},
  present: readonly string[] = [],
  takeAtOnce = false,
  failure?: Error,
  everywhere = Promise.resolve(),
) {
  const reloaded = { everywhere };
  const file = {
    warnings: ['mind this'],
    routes: [],
    plans: new Map([['free', {}]]),
    spool: { directory: '/' },
    limits: { connections: 1 },
    upstreams: new Map(),
    ...over,
  } as unknown as Config;
  const told: string[] = [];
  const applying: (() => void)[] = [];
  let loads = 0;
  const reloader = new Reloader({
    load() {
      loads += 1;
      if (failure !== undefined) throw failure;
      return { config: { ...file }, handed: undefined };
    },
    present: {
      warnings: [],
      spool: file.spool,
      limits: file.limits,
      plans: new Map(present.map((plan) => [plan, {}])),
    } as unknown as Config,
    gateway: {
      reload: () =>
        takeAtOnce ? reloaded : new Promise((resolve) => applying.push(() => resolve(reloaded))),
      tellKeysInBoth: () => undefined,
      metrics: { countReload: (outcome) => void told.push(outcome), showLostLines: () => undefined },
    },
    logger: createLogger('info', {
      write(line) {
        const { level, msg, plans, problems } = JSON.parse(line) as Record<'level' | 'msg', string> &
          Partial<Record<'plans' | 'problems', string[]>>;
        told.push(`${level} ${plans === undefined ? '' : `${plans.join()} `}${msg}`, ...(problems ?? []));
      },
    }),
  });
  const apply = async (): Promise<void> => {
    applying.shift()?.();
    await settle();
  };
  return { reloader, told, apply, loads: () => loads };
}

test('a file that was written while a reload was under way is read when that is over, once', async () => {
  const { reloader, told, apply, loads } = createScene();
  for (let asked = 0; asked < 3; asked += 1) {
    reloader.ask();
    await settle();
  }
  assert.deepEqual([loads(), told], [1, []]);
  const done = ['done', 'warn mind this', 'info the configuration was reloaded'];
  await apply();
  assert.deepEqual([loads(), told], [2, done]);
  await apply();
  assert.deepEqual([loads(), told], [2, [...done, ...done]]);
  reloader.ask();
  await settle();
  assert.equal(loads(), 3);
});

test('a reload that one worker does not take for long keeps no other waiting, and is done when all have it', async () => {
  const { promise, resolve } = Promise.withResolvers<void>();
  const { reloader, told, loads } = createScene({}, [], true, undefined, promise);
  for (let asked = 1; asked < 3; asked += 1) {
    reloader.ask();
    await until(() => loads() === asked);
  }
  await settle();
  assert.deepEqual(told, ['done', 'done']);
  resolve();
  await settle();
  const line = 'info the configuration was reloaded';
  assert.deepEqual(
    told.filter((one) => one === line),
    [line],
    'of the last alone',
  );
});

test('signals that come together ask for one reload', async (t) => {
  const { reloader, apply, loads } = createScene({}, [], true);
  const hear = (): void => reloader.ask();
  process.on('SIGHUP', hear);
  t.after(() => process.off('SIGHUP', hear));
  for (let signals = 0; signals < 100; signals += 1) process.kill(process.pid, 'SIGHUP');
  await until(() => loads() > 0);
  await apply();
  assert.ok(loads() < 10, `${loads()} reloads`);
});

test('a line of the log names a hundred mistakes of a file, and how many more there are', async () => {
  const errors = new ConfigErrors(Array.from({ length: 103 }, () => fault));
  const { reloader, told } = createScene({}, [], true, errors);
  reloader.ask();
  await until(() => told.includes('refused'));
  assert.match(told[0] ?? '', /^error the reload is refused, .*: it is not valid$/);
  const each = Array.from({ length: 100 }, () => 'gateway.yaml:1:1: is wrong');
  assert.deepEqual(told.slice(1), [...each, '… and 3 more', 'refused']);
});

test('a fault of ours in a reload is told as one, and refuses it', async () => {
  const { reloader, told } = createScene({}, [], true, new TypeError('x is no function'));
  reloader.ask();
  await until(() => told.includes('refused'));
  assert.match(told[0] ?? '', /^error the reload is refused, .*: a fault of the gateway itself, /);
});

test('plans that a reload takes away are told of, once, since keys of the store may still have them', async () => {
  const { reloader, told, apply } = createScene({}, ['free', 'gold', 'old']);
  for (let asked = 0; asked < 2; asked += 1) {
    reloader.ask();
    await settle();
    await apply();
  }
  const ofPlans = told.filter((line) => line.includes('plans are gone'));
  assert.deepEqual(ofPlans, [
    'warn gold,old plans are gone from the file: keys of the store that have one are answered 500 until they get another',
  ]);
});

for (const { forward, isRefused } of [
  { forward: 'whole', isRefused: true },
  { forward: 'stream', isRefused: false },
]) {
  test(`a folder that is not there is a reason to refuse a reload if uploads wait in it: ${forward}`, async () => {
    const routes = [{ body: { kind: 'none' } }, { body: { kind: 'upload', upload: { forward } } }];
    const spool = { directory: '/no/such/folder' };
    const { reloader, told, apply } = createScene({ routes, spool } as unknown as Partial<Config>);
    reloader.ask();
    await until(async () => {
      await apply();
      return told.includes('refused') || told.includes('done');
    });
    const reason =
      /^error the reload is refused, .*: uploads cannot wait in \/no\/such\/folder \(spool\.directory\)/;
    assert.deepEqual(
      [told.some((line) => reason.test(line)), told.includes('refused')],
      [isRefused, isRefused],
    );
  });
}
