import assert from 'node:assert/strict';
import type { Worker } from 'node:cluster';
import { EventEmitter } from 'node:events';
import { test, type TestContext } from 'node:test';
import { Backoff } from '../../../../src/commands/workers/backoff.ts';
import { Crew } from '../../../../src/commands/workers/crew.ts';
import type { Order } from '../../../../src/commands/workers/worker-messages.ts';
import type { HandedConfig } from '../../../../src/config/hand-over.ts';
import { createLogger } from '../../../../src/telemetry/log.ts';
import { Turns } from '../../../../src/waiting/turns.ts';
import { collectGarbage } from '../../../helpers/collect-garbage.ts';
import { holdUp } from '../../../helpers/hold-up.ts';
import { until } from '../../../helpers/poll.ts';
import { settle } from '../../../helpers/turnable-clock.ts';

const listen = { host: '127.0.0.1', port: 8080 };
const counted = [{ name: 'things', help: 'Things.', type: 'counter', values: [], aggregator: 'sum' }];

/** A worker as far as a crew knows one, which answers when the test has it answer. */
class StandIn extends EventEmitter {
  readonly orders: Order[] = [];
  readonly process: EventEmitter & { pid: number | undefined; kill: () => void };

  constructor(pid: number | undefined) {
    super();
    this.process = Object.assign(new EventEmitter(), { pid, kill: () => this.end(null, 'SIGKILL') });
  }

  send(order: Order): void {
    this.orders.push(order);
  }

  /** It listens to orders, and is told what to serve. */
  awake(): void {
    this.emit('message', { kind: 'awake' });
  }

  ready(storeIdentity?: string): void {
    if (!this.orders.some(({ kind }) => kind === 'begin')) this.awake();
    this.emit('message', { kind: 'ready', listen, storeIdentity });
  }

  answer(): void {
    for (const order of this.orders.splice(0)) {
      if (order.kind === 'ask') this.emit('message', { kind: 'answer', id: order.id, answer: counted });
      if (order.kind === 'reload') this.emit('message', { kind: 'answer', id: order.id, answer: true });
    }
  }

  /** The system refuses it a process, as Node tells of most reasons for that. */
  fail(): void {
    this.emit('error', new Error('spawn EMFILE'));
    this.emit('exit', -24, null);
    this.process.emit('close', -24, null);
  }

  /** Its process ends, and a moment later all that it said has been heard. */
  end(code: number | null, signal: string | null = null): void {
    this.emit('exit', code, signal);
    this.emit('message', { kind: 'farewell', metrics: counted });
    this.process.emit('close', code, signal);
  }
}

const beginning = { config: {} as HandedConfig, logForm: 'json', port: 8080 } as const;

async function startCrew(t: TestContext | undefined, count: number) {
  const made = makeCrew(t, count, (worker) => worker.ready());
  await made.crew.start(beginning);
  const [first, second] = made.workers as [StandIn, StandIn];
  return { ...made, first, second };
}

/** Lets this time pass, or all that is waited for, and what follows from it happen. */
async function pass(t: TestContext, ms?: number): Promise<void> {
  if (ms === undefined) t.mock.timers.runAll();
  else t.mock.timers.tick(ms);
  await settle();
}

/** Somebody asks the worker to leave, and not the whole group. */
async function leave(t: TestContext, worker: StandIn): Promise<void> {
  worker.emit('message', { kind: 'leaving' });
  await pass(t, 200);
}

const never = new Promise(() => undefined);

/** Time stands still in the test that is given. */
function makeCrew(
  t: TestContext | undefined,
  count: number,
  forked: (worker: StandIn) => void,
  stopAsked: Promise<unknown> = never,
  startsAtOnce = Infinity,
) {
  t?.mock.timers.enable({ apis: ['setTimeout'] });
  const workers: StandIn[] = [];
  const told: string[] = [];
  const log: Record<string, unknown>[] = [];
  const machine = { hasMemory: true, hasFiles: true };
  const crew = new Crew({
    count,
    startsAtOnce,
    logger: createLogger('info', {
      write: (line) => void log.push(JSON.parse(line) as Record<string, unknown>),
    }),
    fork: () => {
      if (!machine.hasMemory) throw new Error('spawn ENOMEM');
      const worker = new StandIn(machine.hasFiles ? workers.length + 1 : undefined);
      if (!machine.hasFiles) {
        queueMicrotask(() => worker.fail());
        return worker as unknown as Worker;
      }
      workers.push(worker);
      queueMicrotask(() => forked(worker));
      return worker as unknown as Worker;
    },
    stopAsked,
    stopPatienceMs: 60_000,
    metrics: {
      note: (pid) => void told.push(`numbers of ${pid}`),
      retire: (pid) => void told.push(`end of ${pid}`),
    },
    onDied: () => void told.push('a death'),
  });
  return { crew, told, log, workers, machine };
}

test('what a worker said is told before its end is, however late others answer', async (t) => {
  const { crew, told, first, second } = await startCrew(t, 2);
  const asked = crew.ask('metrics', (_, pid) => told.push(`answer of ${pid}`));
  second.answer();
  await settle();
  second.end(null, 'SIGKILL');
  first.answer();
  await asked;
  assert.deepEqual(told, ['answer of 2', 'numbers of 2', 'end of 2', 'a death', 'answer of 1']);
});

test('an answer that is read together with what its worker said after it is told before that', async (t) => {
  const { crew, told, second } = await startCrew(t, 2);
  void crew.ask('metrics', (_, pid) => told.push(`answer of ${pid}`));
  second.answer();
  second.end(0);
  assert.deepEqual(told, ['answer of 2', 'numbers of 2', 'end of 2']);
});

const kinds = ({ orders }: StandIn): string[] => orders.map(({ kind }) => kind);
const said = (log: readonly Record<string, unknown>[]) =>
  log.map(({ level, pid, msg }) => [level, pid, msg].join(' '));

test('a worker that does not answer is told of, and so is its next answer', async (t) => {
  const { crew, log, first, second } = await startCrew(t, 2);
  const round = async (...answering: StandIn[]): Promise<void> => {
    crew.beginRound();
    const asked = crew.ask('metrics', () => undefined);
    for (const worker of answering) worker.answer();
    if (answering.length === 2) await asked;
  };
  for (let rounds = 0; rounds < 20; rounds += 1) await round(first, second);
  assert.deepEqual(log, []);
  for (let rounds = 0; rounds < 5; rounds += 1) await round(first);
  assert.deepEqual(said(log), ['error 2 a worker does not answer']);
  await round(first, second);
  for (let rounds = 0; rounds < 2; rounds += 1) await round(first);
  await round(first, second);
  assert.deepEqual(said(log).slice(1), [
    'info 2 a worker answers again',
    'error 2 a worker does not answer',
    'info 2 a worker answers again',
  ]);
});

test('only so many start at the same time, and none that waits for its turn once all are to end', async (t) => {
  const { crew, workers } = makeCrew(t, 6, (worker) => worker.process.pid === 1 && worker.ready(), never, 2);
  const started = crew.start(beginning);
  await settle();
  assert.equal(workers.length, 3);
  workers[1]?.ready();
  await settle();
  assert.equal(workers.length, 4);
  const drained = crew.drain(60_000);
  for (const worker of workers) worker.end(0);
  await drained;
  await started;
  assert.equal(workers.length, 4);
});

test('turns to start that nobody waited for are free again, and no more of them', async () => {
  const starts = new Turns(1);
  await starts.run(() => Promise.resolve());
  const begun: string[] = [];
  const { promise: goOn, resolve } = Promise.withResolvers<void>();
  const both = ['first', 'second'].map((name) =>
    starts.run(() => {
      begun.push(name);
      return goOn;
    }),
  );
  await settle();
  assert.deepEqual(begun, ['first']);
  resolve();
  await Promise.all(both);
  assert.deepEqual(begun, ['first', 'second']);
});

test('who asks does not wait for a worker that has ended', async (t) => {
  const { crew, told, first, second } = await startCrew(t, 2);
  const asked = crew.ask('metrics', (_, pid) => told.push(`answer of ${pid}`));
  first.end(null, 'SIGKILL');
  second.answer();
  await asked;
  assert.deepEqual(told, ['numbers of 1', 'end of 1', 'a death', 'answer of 2']);
});

test('who asks waits no longer than a moment for a worker that hangs', async (t) => {
  const { crew, told, second } = await startCrew(t, 2);
  const asked = crew.ask('metrics', (_, pid) => told.push(`answer of ${pid}`));
  second.answer();
  t.mock.timers.tick(700);
  await asked;
  assert.deepEqual(told, ['answer of 2']);
});

test('nothing is kept of a question that was answered', async () => {
  const { crew, first } = await startCrew(undefined, 1);
  const answer = await (async () => {
    const asked = crew.ask('metrics', () => undefined);
    const [question] = first.orders.filter((order) => order.kind === 'ask');
    const told = [...counted];
    first.emit('message', { kind: 'answer', id: question?.id, answer: told });
    await asked;
    return new WeakRef(told);
  })();
  await until(() => {
    collectGarbage();
    return answer.deref() === undefined;
  });
  crew.kill();
});

test('a worker that goes on not answering is killed and replaced', async (t) => {
  const { crew, log, told, workers, first } = await startCrew(t, 2);
  for (let rounds = 0; rounds < 15; rounds += 1) {
    crew.beginRound();
    void crew.ask('metrics', () => undefined);
    first.answer();
  }
  assert.equal(told.length, 0);
  crew.beginRound();
  assert.deepEqual(told, ['numbers of 2', 'end of 2', 'a death']);
  t.mock.timers.runAll();
  assert.equal(workers.length, 3);
  assert.deepEqual(said(log), [
    'error 2 a worker does not answer',
    'error 2 a worker has not answered for too long and is killed',
    'error 2 a worker ended, another takes its place',
  ]);
});

test('a worker that does not become ready is killed and replaced', async (t) => {
  const { crew, log, workers } = makeCrew(t, 2, (worker) => {
    if (worker.process.pid === 1) worker.ready();
  });
  const started = crew.start(beginning);
  await settle();
  const rounds = (count: number): void => {
    for (let round = 0; round < count; round += 1) {
      crew.beginRound();
      void crew.ask('metrics', () => undefined);
      for (const worker of workers) worker.answer();
    }
  };
  rounds(29);
  assert.deepEqual(log, []);
  rounds(1);
  await started;
  assert.deepEqual(said(log), [
    'error 2 a worker takes too long to start and is killed',
    'error 2 a worker ended, another takes its place',
  ]);
  t.mock.timers.runAll();
  assert.equal(workers.length, 3);
  rounds(29);
  workers[2]?.ready();
  for (let round = 0; round < 15; round += 1) crew.beginRound();
  assert.deepEqual(said(log).slice(2), [
    'error 1 a worker does not answer',
    'error 3 a worker does not answer',
  ]);
});

test('answers that lie there when this process was held up are heard', async () => {
  const { crew, first, second } = await startCrew(undefined, 2);
  const heard: number[] = [];
  const asked = crew.ask('metrics', (_answer, pid) => heard.push(pid));
  const channel = new MessageChannel();
  channel.port2.on('message', () => {
    first.answer();
    second.answer();
    channel.port2.close();
  });
  channel.port1.postMessage('there');
  holdUp(1000);
  await asked;
  assert.deepEqual(heard, [1, 2]);
});

test('a worker that was asked to end is replaced at once, however young, and what fails waits longer and longer', async (t) => {
  const { log, workers, told } = await startCrew(t, 2);
  const asked = ['SIGTERM', 'SIGINT', 'SIGHUP'].map((signal) => [null, signal] as const);
  for (const [code, signal] of [[0], [70], [0], ...asked, [70]] as const) {
    workers.at(-1)?.end(code, signal);
    await pass(t);
  }
  const ends = log.filter(({ msg }) => String(msg).startsWith('a worker ended'));
  assert.deepEqual(
    ends.map(({ level, code, afterMs }) => [level, code, afterMs]),
    [
      ['info', 0, 0],
      ['error', 70, 100],
      ['info', 0, 0],
      ...asked.map(() => ['info', null, 0]), // it had not yet come to listen for what it was asked
      ['error', 70, 200],
    ],
  );
  assert.equal(told.filter((one) => one === 'a death').length, 2, 'who was asked to end has not died');
});

test('workers that are asked to leave serve until others have come in their places, however they end', async (t) => {
  const { crew, log, told, workers } = makeCrew(t, 2, (worker) => {
    if (Number(worker.process.pid) < 3) worker.ready();
    else worker.awake();
  });
  await crew.start(beginning);
  const [first, second] = workers as [StandIn, StandIn];
  for (const worker of [first, second]) worker.emit('message', { kind: 'leaving' });
  await pass(t, 200);
  const [third, fourth] = workers.slice(2) as [StandIn, StandIn];
  fourth.ready();
  third.end(70);
  await pass(t);
  assert.deepEqual([first, second].map(kinds), [['begin', 'drain'], ['begin']], 'one has come');
  workers[4]?.ready();
  await settle();
  assert.deepEqual([first, second].map(kinds), [
    ['begin', 'drain'],
    ['begin', 'drain'],
  ]);
  second.end(0);
  first.end(null, 'SIGKILL');
  t.mock.timers.runAll();
  assert.equal(workers.length, 5, 'nobody is replaced twice');
  assert.equal(told.filter((one) => one === 'a death').length, 2);
  assert.deepEqual(said(log), [
    'info 1 a worker was asked to stop, another takes its place',
    'info 2 a worker was asked to stop, another takes its place',
    'error 3 a worker ended, another takes its place',
    'info  a worker has taken the place',
    'info  a worker has taken the place',
    'info 2 a worker ended',
    'error 1 a worker ended',
  ]);
});

test('a worker that is asked to leave while others still start goes when they have come', async (t) => {
  const { crew, workers } = makeCrew(t, 2, (worker) => {
    if (worker.process.pid !== 2) worker.ready();
  });
  const started = crew.start(beginning);
  await settle();
  const [first, second] = workers as [StandIn, StandIn];
  await leave(t, first);
  assert.equal(workers.length, 3);
  assert.deepEqual(kinds(first), ['begin']);
  second.ready();
  await started;
  assert.deepEqual(kinds(first), ['begin', 'drain']);
});

test('a worker that still drains is not told again when others leave too', async (t) => {
  const { first, second } = await startCrew(t, 2);
  for (const worker of [first, second]) {
    await leave(t, worker);
  }
  assert.deepEqual([first, second].map(kinds), [
    ['begin', 'drain'],
    ['begin', 'drain'],
  ]);
});

test('workers that are asked to leave sooner than others can start do not pile up', async (t) => {
  const { crew, workers } = makeCrew(t, 2, (worker) => {
    if (Number(worker.process.pid) < 3) worker.ready();
  });
  await crew.start(beginning);
  workers[0]?.emit('message', { kind: 'leaving' });
  for (let newest = 1; newest < 10; newest += 1) {
    await leave(t, workers[newest] as StandIn);
    workers[newest + 1]?.ready();
    await settle();
    const came = workers.slice(0, newest + 2);
    const serving = came.filter((worker) => !kinds(worker).includes('drain'));
    assert.deepEqual(
      serving.map(({ process }) => process.pid),
      [newest + 1, newest + 2],
    );
  }
});

test('a worker that drains is asked what it has counted, and not whether it is ready, as others serve', async (t) => {
  const { crew, first, second } = await startCrew(t, 2);
  await leave(t, first);
  for (const about of ['readiness', 'counts'] as const) void crew.ask(about, () => undefined);
  const asked = [first, second].map(({ orders }) =>
    orders.flatMap((order) => (order.kind === 'ask' ? order.about : [])),
  );
  assert.deepEqual(asked, [['counts'], ['readiness', 'counts']]);
});

test('a worker that is asked to leave and dies is replaced once', async (t) => {
  const { first, workers } = await startCrew(t, 2);
  first.emit('message', { kind: 'leaving' });
  first.end(null, 'SIGKILL');
  await pass(t, 200);
  assert.equal(workers.length, 3);
});

test('a worker that is asked to leave together with all is drained like all', async (t) => {
  const { crew, log, workers, first, second } = await startCrew(t, 2);
  first.emit('message', { kind: 'leaving' });
  t.mock.timers.tick(199);
  const drained = crew.drain(60_000);
  await pass(t, 1);
  for (const worker of [first, second]) {
    assert.deepEqual(kinds(worker), ['begin', 'drain']);
    worker.end(0);
  }
  await drained;
  assert.equal(workers.length, 2);
  assert.deepEqual(log, []);
});

test('what fails waits ten seconds at most, and not at all when one before it has lived', async (t) => {
  let now = 0;
  t.mock.method(performance, 'now', () => now);
  const { log, workers } = await startCrew(t, 2);
  const end = async (livedMs: number): Promise<void> => {
    now += livedMs;
    workers.at(-1)?.end(70);
    await pass(t);
  };
  for (let ends = 0; ends < 9; ends += 1) await end(9999);
  await end(10_000);
  await end(9999);
  assert.deepEqual(waits(log), [100, 200, 400, 800, 1600, 3200, 6400, 10_000, 10_000, 0, 100]);
  assert.deepEqual(
    log.flatMap(({ livedMs }) => livedMs ?? []),
    [...Array<number>(9).fill(9999), 10_000, 9999],
  );
});

const waits = (log: readonly Record<string, unknown>[]) => log.flatMap(({ afterMs }) => afterMs ?? []);

test('workers that fail together fail once', async (t) => {
  const { log, workers } = await startCrew(t, 16);
  for (const worker of workers.slice(0, 16)) worker.end(70);
  assert.deepEqual(waits(log), Array(16).fill(100));
  await pass(t, 100);
  for (const worker of workers.slice(16)) worker.end(70);
  assert.deepEqual(waits(log).slice(16), Array(16).fill(200));
});

test('a failure during a pause is one with what began it, though the pause of another is over meanwhile', (t) => {
  t.mock.timers.enable({ apis: ['setTimeout'] });
  const backoff = new Backoff();
  const failures: number[] = [];
  for (let at = 0; at <= 150; at += 50) {
    failures.push(backoff.retry(() => undefined));
    t.mock.timers.tick(50);
  }
  assert.deepEqual(failures, [100, 100, 200, 200]);
});

test('a storm is forgotten once all places have been taken for a while, and not by one worker that lived', async (t) => {
  let now = 0;
  t.mock.method(performance, 'now', () => now);
  const { first, log, workers } = await startCrew(t, 3);
  const end = async (worker: StandIn | undefined, code: number): Promise<void> => {
    worker?.end(code);
    await pass(t);
  };
  for (let ends = 0; ends < 3; ends += 1) await end(workers.at(-1), 70);
  now = 9999;
  await end(workers[1], 0);
  await end(workers.at(-1), 70);
  now = 15_000;
  await end(first, 70);
  await end(workers.at(-1), 70);
  now = 25_000;
  await end(workers.at(-1), 0);
  await end(workers.at(-1), 70);
  assert.deepEqual(waits(log), [100, 200, 400, 0, 800, 0, 1600, 0, 100]);
});

test('a storm is not forgotten while a place is empty', async (t) => {
  let now = 0;
  t.mock.method(performance, 'now', () => now);
  const { first, second, log, workers } = await startCrew(t, 2);
  second.end(70);
  now = 10_000;
  first.end(0);
  await pass(t);
  workers.at(-1)?.end(70);
  assert.deepEqual(waits(log), [100, 0, 200]);
});

for (const [lack, why] of [
  ['hasMemory', 'spawn ENOMEM'],
  ['hasFiles', 'spawn EMFILE'],
] as const) {
  test(`a place for which no process can be made is taken when one can: ${lack}`, async (t) => {
    const { first, log, workers, machine } = await startCrew(t, 2);
    const retry = async (): Promise<void> => {
      await pass(t);
    };
    first.end(0);
    machine[lack] = false;
    await retry();
    await retry();
    machine[lack] = true;
    await retry();
    assert.equal(workers.length, 3);
    assert.deepEqual(
      log.map(({ msg, afterMs, cause }) => [msg, afterMs, (cause as Error | undefined)?.message]),
      [
        ['a worker ended, another takes its place', 0, undefined],
        ['no process can be made for a worker', 100, why],
        ['no process can be made for a worker', 200, why],
        ['a worker has taken the place', undefined, undefined],
      ],
    );
  });
}

test('a worker that ends while others still start is replaced', async (t) => {
  const { crew, log, workers } = makeCrew(t, 3, (worker) => {
    if (worker.process.pid !== 3) worker.ready();
  });
  const started = crew.start(beginning);
  await settle();
  const [first, second, third] = workers as [StandIn, StandIn, StandIn];
  first.end(null, 'SIGKILL');
  second.end(null, 'SIGKILL');
  t.mock.timers.runAll();
  third.ready();
  assert.deepEqual(await started, listen);
  assert.equal(workers.length, 5);
  assert.deepEqual(said(log).slice(0, 2), [
    'error 1 a worker ended, another takes its place',
    'error 2 a worker ended, another takes its place',
  ]);
});

test('a worker that does not start keeps the others from nothing', async (t) => {
  const { crew, workers } = makeCrew(t, 2, (worker) => {
    if (worker.process.pid === 2) worker.end(70);
    else worker.ready();
  });
  assert.deepEqual(await crew.start(beginning), listen);
  t.mock.timers.runAll();
  assert.equal(workers.length, 3);
});

test('one worker that is ready tells for all which keys are in both the file and the store', async (t) => {
  const { crew, workers } = makeCrew(t, 3, (worker) => worker.process.pid !== 2 && worker.ready());
  const started = crew.start(beginning);
  await settle();
  crew.tellKeysInBoth();
  workers[2]?.end(70);
  crew.tellKeysInBoth();
  assert.deepEqual(workers.map(kinds), [['begin', 'tellKeysInBoth'], [], ['begin', 'tellKeysInBoth']]);
  workers[1]?.ready();
  await started;
});

test('a worker that has been relieved tells nothing for the others: its store may be closed', async (t) => {
  const { crew, workers, first } = await startCrew(t, 2);
  await leave(t, first);
  crew.tellKeysInBoth();
  assert.deepEqual(workers.map(kinds), [['begin', 'drain'], ['begin'], ['begin', 'tellKeysInBoth']]);
});

/** What each has been told to serve by since it last answered. */
const served = (workers: readonly StandIn[]): unknown[] =>
  workers.map(({ orders }) =>
    orders.flatMap((order) => {
      if (order.kind === 'begin') return order.beginning;
      return order.kind === 'reload' ? order.config : [];
    }),
  );

test('all workers begin with one configuration and one database, that of the first, and the start waits for all', async (t) => {
  const { crew, workers } = makeCrew(t, 3, (worker) => {
    if (worker.process.pid !== 3) worker.ready('the database');
  });
  let isUp = false;
  const started = crew.start(beginning).then(() => (isUp = true));
  await settle();
  workers[2]?.awake();
  const later = { ...beginning, storeIdentity: 'the database' };
  assert.deepEqual(served(workers), [[beginning], [later], [later]]);
  assert.ok(!isUp);
  workers[2]?.ready();
  await started;
});

test('a start that is told to stop waits for its first worker only', async (t) => {
  const { crew, workers } = makeCrew(t, 3, (worker) => worker.awake(), Promise.resolve());
  let isUp = false;
  const started = crew.start(beginning).then(() => (isUp = true));
  await settle();
  assert.ok(!isUp);
  workers[0]?.ready();
  await settle();
  assert.ok(isUp);
  await started;
  const drained = crew.drain(60_000);
  assert.ok(workers.every((worker) => kinds(worker).join() === 'begin,drain'));
  for (const worker of workers) worker.end(0);
  await drained;
});

test('another configuration comes to one worker after another, and is in force when all have it', async (t) => {
  const next = { ...beginning.config };
  const { crew, workers } = makeCrew(t, 5, (worker) => {
    if (worker.process.pid === 3) worker.awake();
    else if (Number(worker.process.pid) < 3) worker.ready();
  });
  const started = crew.start(beginning);
  await settle();
  const [first, second, starting, deaf, young] = workers as [StandIn, StandIn, StandIn, StandIn, StandIn];
  const later = { ...beginning, storeIdentity: undefined };
  let isInForce = false;
  const reloading = crew.reload(next);
  const reloaded = reloading.then(({ everywhere }) => everywhere).then(() => (isInForce = true));
  young.ready();
  const latest = { ...later, config: next };
  assert.deepEqual(served(workers), [[beginning, next], [later], [later], [], [latest]]);
  first.answer();
  await settle();
  assert.deepEqual(served(workers).slice(1, 3), [[later, next], [later]]);
  // One that is held up keeps nobody waiting for long.
  await pass(t, 2000);
  assert.deepEqual(served(workers).slice(1, 3), [
    [later, next],
    [later, next],
  ]);
  // Nor for one that is about to hang for good: another configuration may be asked for.
  let mayFollow = false;
  void reloading.then(() => (mayFollow = true));
  await pass(t, 2000);
  await settle();
  assert.ok(mayFollow);
  starting.ready();
  starting.answer();
  await settle();
  assert.ok(!isInForce);
  second.end(null, 'SIGKILL');
  await reloaded;
  deaf.ready();
  await started;
  assert.deepEqual(served([deaf, young]), [[latest], [latest]]);
});

test('a worker that has yet to take a reload is not asked to tell of keys in file and store', async (t) => {
  const { crew, workers } = makeCrew(t, 2, (worker) => worker.ready());
  await crew.start(beginning);
  const [first, second] = workers as [StandIn, StandIn];
  const reloading = crew.reload({ ...beginning.config });
  first.answer();
  await settle();
  await pass(t, 2000);
  const { everywhere } = await reloading;
  crew.tellKeysInBoth();
  assert.deepEqual(workers.map(kinds), [['tellKeysInBoth'], ['begin', 'reload']]);
  second.answer();
  await everywhere;
  crew.tellKeysInBoth();
  assert.deepEqual(kinds(second), ['tellKeysInBoth']);
});

test('what keeps the first worker from starting is the end of all', async (t) => {
  const { crew, log, workers } = makeCrew(t, 2, (worker) => worker.end(69));
  await assert.rejects(crew.start(beginning), { exitCode: 69, reason: undefined });
  assert.equal(workers.length, 1);
  assert.deepEqual(log, []);
});

test('the first worker that does not become ready is killed, which is the end of all', async (t) => {
  const { crew, log, workers } = makeCrew(t, 2, () => undefined);
  const started = crew.start(beginning);
  await settle();
  for (let rounds = 0; rounds < 29; rounds += 1) crew.beginRound();
  assert.deepEqual(log, []);
  crew.beginRound();
  await assert.rejects(started, { exitCode: 70, reason: /too long/ });
  assert.deepEqual(said(log), ['error 1 a worker takes too long to start and is killed']);
  assert.equal(workers.length, 1);
});

test('a first worker that does not become ready holds up a stop no longer than a drain would', async (t) => {
  const { crew, log } = makeCrew(t, 2, (worker) => worker.awake(), Promise.resolve());
  const started = crew.start(beginning);
  await settle();
  t.mock.timers.tick(59_999);
  assert.deepEqual(log, []);
  t.mock.timers.tick(1);
  await assert.rejects(started, { exitCode: 70, reason: /too long/ });
  assert.deepEqual(said(log), ['error 1 a worker takes too long to start and is killed']);
});

test('a stop that comes with the first worker at work leaves it to the drain', async (t) => {
  const { promise: stopAsked, resolve: stop } = Promise.withResolvers<void>();
  const { crew, log } = makeCrew(t, 1, (worker) => worker.ready(), stopAsked);
  await crew.start(beginning);
  stop();
  await settle();
  t.mock.timers.tick(60_000);
  assert.deepEqual(log, []);
});

test('a worker that cannot die is told of once', async (t) => {
  const { crew, log, second } = await startCrew(t, 2);
  second.process.kill = () => undefined;
  for (let rounds = 0; rounds < 40; rounds += 1) {
    crew.beginRound();
    void crew.ask('metrics', () => undefined);
  }
  assert.deepEqual(
    said(log).filter((line) => line.includes(' 2 ')),
    ['error 2 a worker does not answer', 'error 2 a worker has not answered for too long and is killed'],
  );
});

test('a worker that no longer listens is no fault of the process that leads', async (t) => {
  const { log, first } = await startCrew(t, 2);
  first.emit('error', new Error('write EPIPE'));
  assert.deepEqual(log, []);
});

test('a drain waits for every worker that is at work, and none is judged or replaced meanwhile', async (t) => {
  const { crew, log, told, workers, first, second } = await startCrew(t, 3);
  first.end(0);
  const drained = crew.drain(60_000);
  t.mock.timers.tick(59_999);
  for (let rounds = 0; rounds < 40; rounds += 1) crew.beginRound();
  assert.deepEqual(kinds(second), ['begin', 'drain']);
  assert.deepEqual(told, ['numbers of 1', 'end of 1']);
  second.end(0);
  workers[2]?.end(null, 'SIGKILL');
  await drained;
  t.mock.timers.runAll();
  assert.equal(workers.length, 3);
  assert.deepEqual(said(log), [
    'info 1 a worker ended, another takes its place',
    'error 3 a worker ended before it had finished',
  ]);
});

test('a drain ends with its patience, and at once for a worker that has nothing to serve by yet', async (t) => {
  const { crew, told, workers } = makeCrew(t, 2, (worker) => {
    if (worker.process.pid !== 3) worker.ready();
  });
  await crew.start(beginning);
  workers[0]?.end(0);
  t.mock.timers.runAll();
  told.length = 0;
  const drained = crew.drain(60_000);
  assert.deepEqual(told, ['numbers of 3', 'end of 3']);
  t.mock.timers.tick(60_000);
  assert.deepEqual(told.slice(2), ['numbers of 2', 'end of 2']);
  await drained;
});

/** A crew of one that is being replaced: the next has been told to begin, and may have opened some of its sockets. */
async function startReplacing(t: TestContext) {
  const { crew, log, told, workers } = makeCrew(t, 1, (worker) => {
    worker.awake();
    if (worker.process.pid === 1) worker.ready();
  });
  await crew.start(beginning);
  workers[0]?.end(0);
  await pass(t);
  log.length = told.length = 0;
  return { crew, log, told, starting: workers[1] as StandIn };
}

test('a drain lets a worker that may serve already come to work, and finish', async (t) => {
  const { crew, log, told, starting } = await startReplacing(t);
  const drained = crew.drain(60_000);
  assert.deepEqual(kinds(starting), ['begin', 'drain']);
  t.mock.timers.tick(1999);
  starting.ready();
  t.mock.timers.tick(58_000);
  assert.deepEqual(told, []);
  starting.end(0);
  await drained;
  assert.deepEqual(
    log.map(({ msg }) => msg),
    ['a worker has taken the place'],
  );
});

test('a drain does not wait long for a worker that may serve already to come to work', async (t) => {
  const { crew, log, told } = await startReplacing(t);
  const drained = crew.drain(60_000);
  t.mock.timers.tick(1999);
  assert.deepEqual(told, []);
  t.mock.timers.tick(1);
  assert.deepEqual(told, ['numbers of 2', 'end of 2']);
  await drained;
  assert.deepEqual(said(log), ['error 2 a worker takes too long to start and is killed']);
});

test('a worker that ends in a drain before it has come to work is not told of as too slow', async (t) => {
  const { crew, log, starting } = await startReplacing(t);
  const drained = crew.drain(60_000);
  starting.end(0);
  await drained;
  t.mock.timers.tick(60_000);
  assert.deepEqual(log, []);
});

test('workers end at once, though they drain, where somebody does not want to wait', async (t) => {
  const { crew, log, told } = await startCrew(t, 2);
  const drained = crew.drain(60_000);
  crew.kill();
  assert.deepEqual(told, ['numbers of 1', 'end of 1', 'numbers of 2', 'end of 2']);
  await drained;
  assert.deepEqual(log, []);
});

test('a drain goes on without a worker that cannot die, and tells of it', async (t) => {
  const { crew, log, first, second } = await startCrew(t, 2);
  second.process.kill = () => undefined;
  let isOver = false;
  const drained = crew.drain(60_000).then(() => (isOver = true));
  first.end(0);
  await pass(t, 61_999);
  assert.ok(!isOver);
  t.mock.timers.tick(1);
  await drained;
  assert.deepEqual(said(log), [
    'error 2 a worker has not finished in time and is killed',
    'error 2 a worker that was killed has not ended and is left behind',
  ]);
});
