import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import cluster from 'node:cluster';
import { appendFileSync, existsSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { Agent, request } from 'node:http';
import { join } from 'node:path';
import { after, test, type TestContext } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { stringify } from 'yaml';
import type { Order, Report } from '../../src/commands/workers/worker-messages.ts';
import type { HandedConfig } from '../../src/config/hand-over.ts';
import { loadConfig, readConfig } from '../../src/config/load-config.ts';
import { claimPort } from '../../src/door/acceptors.ts';
import { openStore } from '../../src/stores/open-store.ts';
import { createMetrics } from '../../src/telemetry/metrics.ts';
import { aKey, aNote, aSecret, digestOf } from '../helpers/a-key.ts';
import { openBlackHole } from '../helpers/black-hole.ts';
import { commandHere } from '../helpers/command-here.ts';
import { until } from '../helpers/poll.ts';
import { hasEnded, lives, workersOf } from '../helpers/processes.ts';
import { openRaw, requestBytes } from '../helpers/raw-socket.ts';
import { startRecordingUpstream } from '../helpers/recording-upstream.ts';
import { refuses } from '../helpers/refuses.ts';
import { main, runOf, type CliRun } from '../helpers/run-cli.ts';
import { removeStore } from '../helpers/sqlite-file.ts';
import {
  baseConfig,
  demoKey,
  overlay,
  startGateway,
  type Gateway,
  type Yaml,
} from '../helpers/start-gateway.ts';
import { tempFolder } from '../helpers/temp-folder.ts';

const limit = 300;
const quotaKey = 'k-of-a-quota';
const over: Yaml = {
  workers: 2,
  plans: { free: {}, few: { quotas: [{ name: 'all', limit, per: 'lifetime' }] } },
  keys: [
    { id: 'demo', plan: 'free', secret: demoKey },
    { id: 'few', plan: 'few', secret: quotaKey },
  ],
  // Answers are held back for as long as another gateway takes to start.
  upstreams: { recognition: { timeouts: { response: '10m' } } },
  drain: { timeout: '10m' },
  routes: [{ path: '/v1/*', methods: ['GET'], body: 'none' }],
  log: { level: 'debug' },
};
/** Where the leading process has this file in its folder, a worker that starts serves, and is not ready until the file is gone. */
const lateFile = 'late';
const mayBeReadyLate = `--import=data:text/javascript,${encodeURIComponent(`
  const { existsSync } = process.getBuiltinModule('fs');
  const { send } = process;
  if (process.argv[2] === 'worker' && existsSync('${lateFile}'))
    process.send = (message, ...more) => {
      if (message.kind !== 'ready') return send.call(process, message, ...more);
      process.stderr.write('serves already\\n');
      const looking = setInterval(() => {
        if (existsSync('${lateFile}')) return;
        clearInterval(looking);
        send.call(process, message, ...more);
      }, 20);
    };
`)}`;
const faultOnSignal = `--import=data:text/javascript,process.on('SIGUSR2',()=>{throw(Error())})`;
const upstream = await startRecordingUpstream({ after });
const hole = await openBlackHole({ after });
/** Serves the tests in turn, up to the one that drains it. */
const gateway = await startGateway(
  { after },
  overlay(over, {
    upstreams: { hole: { targets: [`http://127.0.0.1:${hole}`] } },
    routes: [
      { path: '/v1/*', methods: ['GET'], body: 'none' },
      { path: '/hole', methods: ['GET'], upstream: 'hole' },
    ],
  }),
  { upstream: upstream.url, env: { NODE_OPTIONS: mayBeReadyLate } },
);
/** Comes to a store that has keys already, and loses its leading process in the end. */
const filled = join(tempFolder({ after }), 'gatehouse.db');
await fillStore();
const [onFile, brief] = await Promise.all([
  startGateway({ after }, overlay(over, { store: `sqlite:${filled}`, drain: { delay: '5m' } }), {
    upstream: upstream.url,
  }),
  startGateway({ after }, overlay(over, { drain: { timeout: '1s' } }), {
    upstream: upstream.url,
    env: { NODE_OPTIONS: faultOnSignal },
  }),
]);
const get = (path: string): Buffer => requestBytes(`GET ${path}`, [['apiKey', demoKey]]);

/** Two keys of the file, one of them by another name, a revoked one of the file, and one that only the store has. */
async function fillStore(): Promise<void> {
  const store = await openStore({ kind: 'sqlite', path: filled });
  for (const to of [
    aKey({ id: 'demo' }),
    aKey({ id: 'renamed', secrets: [aSecret({ digest: digestOf(demoKey) })] }),
    aKey({ id: 'few', revokedAt: 1 }),
    aKey({ id: 'other' }),
  ]) {
    await store.keys.changeKey({ from: undefined, to, note: aNote() });
  }
  await store.close();
}

async function answeredSoFar(all: Gateway = gateway): Promise<number> {
  const page = await all.metrics();
  const lines = page.matchAll(/^gatehouse_requests_total\{.*status="2xx".*\} (\d+)$/gm);
  return [...lines].reduce((sum, [, count]) => sum + Number(count), 0);
}

/**
 * Waits until the gateway is ready and its reasons fit, for those who wait as long as deploy/kubernetes.yaml says. A worker that
 * had no turn of the processor for a moment does not answer in that moment, which is no failure.
 */
async function untilReady(fits: (reasons: readonly string[]) => boolean): Promise<void> {
  await until(async () => {
    const reasons = await reasonsInTime().catch(() => undefined);
    return reasons !== undefined && fits(reasons);
  });
}

/** What a ready gateway has to tell, nothing where it is not ready. */
async function reasonsInTime(): Promise<readonly string[] | undefined> {
  const answer = await fetch(`${gateway.adminUrl}/readyz`, { signal: AbortSignal.timeout(2000) });
  const { reasons } = (await answer.json()) as { reasons: readonly string[] };
  return answer.status === 200 ? reasons : undefined;
}

/** One connection for each client, which asks and asks again until it is told to stop. */
function startLoad(t: TestContext, clients: number, apiKey = demoKey) {
  const agent = new Agent({ keepAlive: true, maxSockets: clients });
  const seen = { answered: 0, cut: 0, wrong: [] as string[], stopped: false };
  t.after(() => {
    seen.stopped = true; // a test that fails in the middle must end, too
    agent.destroy();
  });
  const ask = (path: string): Promise<void> =>
    new Promise((resolve) => {
      const req = request({ port: gateway.port, host: '127.0.0.1', path, agent, headers: { apiKey } });
      req.on('response', (res) => {
        res.resume();
        res.on('error', () => undefined);
        res.on('close', () => {
          if (!res.complete) seen.cut += 1;
          else if (res.statusCode === 200) seen.answered += 1;
          else seen.wrong.push(`status ${res.statusCode}`);
          resolve();
        });
      });
      req.on('error', (error: NodeJS.ErrnoException) => {
        if (error.code === 'ECONNRESET') seen.cut += 1;
        else seen.wrong.push(String(error.code));
        resolve();
      });
      req.end();
    });
  const client = async (): Promise<void> => {
    while (!seen.stopped) {
      const { length } = seen.wrong;
      await ask('/v1/x');
      // Whoever is refused takes a breath, so that the processor is there for the worker that starts.
      if (seen.wrong.length > length) await pause(10);
    }
  };
  const done = Promise.all(Array.from({ length: clients }, client));
  return {
    seen,
    stop: async () => {
      seen.stopped = true;
      await done;
    },
  };
}

test('the metrics of several processes have every name that those of one have', async () => {
  const names = createMetrics()
    .registry.getMetricsAsArray()
    .map(({ name }) => name);
  const page = await until(async () => {
    const shown = await gateway.metrics();
    return names.every((name) => shown.includes(`# TYPE ${name} `)) ? shown : undefined;
  });
  assert.match(page, /^gatehouse_ready [01]$/m);
  const startedAt = Number(/^process_start_time_seconds (\d+)$/m.exec(page)?.[1]);
  assert.ok(Math.abs(Date.now() / 1000 - startedAt) < 300, String(startedAt));
  const { limits } = loadConfig(gateway.configFile, {});
  // What is allowed to both.
  await until(async () =>
    (await gateway.metrics()).includes(`\ngatehouse_connections_max ${2 * limits.connections}\n`),
  );
});

test('a worker that is killed under load costs what it had in flight and nothing else, and is replaced', async (t) => {
  const clients = 16; // some of them at the one that is killed: the kernel deals them out by chance
  upstream.handler = (_, res) => void setTimeout(() => res.end('ok'), 10);
  const [victim = 0, survivor = 0] = workersOf(gateway);
  writeFileSync(
    gateway.configFile,
    'this takes effect at the next start: or it would be told as a mistake\n',
  );
  const before = startLoad(t, clients);
  await until(() => before.seen.answered > 300);
  await before.stop();
  await until(async () => (await answeredSoFar()) === before.seen.answered);

  const load = startLoad(t, clients);
  await until(() => load.seen.answered > 20);
  await until(async () => (await gateway.inFlight()) > 0);
  const atDeath = load.seen.answered;
  process.kill(victim, 'SIGKILL');
  await until(() => workersOf(gateway).length === 3);
  const { answered, cut } = load.seen;
  await until(() => load.seen.answered > answered + 100);
  await load.stop();
  const sure = before.seen.answered + load.seen.answered - atDeath - clients;
  await until(async () => (await answeredSoFar()) >= sure, { what: 'what the dead counted stays counted' });
  await until(async () => (await gateway.inFlight()) === 0, { what: 'what it had in flight does not' });
  assert.deepEqual(load.seen.wrong, []);
  assert.ok(cut > 0 && cut <= clients, `${cut} requests were cut`);
  assert.equal(load.seen.cut, cut, 'none is cut after that');
  assert.ok(lives(survivor));
  const [loss] = gateway.logs().filter(({ msg }) => String(msg).startsWith('a worker ended'));
  assert.deepEqual([loss?.['level'], loss?.['pid'], loss?.['signal']], ['error', victim, 'SIGKILL']);
  assert.match(await gateway.metrics(), /^gatehouse_worker_ends_total 1$/m);
  await untilReady(() => true);
});

test('an upstream that takes no connection keeps nobody who asks for the readiness waiting', async () => {
  const reason = 'no target of upstream hole can be reached: no connection within 2000 ms';
  await untilReady((reasons) => reasons.join() === reason);
});

test('a quota holds for all workers together, also when one is killed in between', async (t) => {
  const arrived = upstream.requests.length;
  const load = startLoad(t, 8, quotaKey);
  await until(() => load.seen.answered > 50);
  const ready = workersOf(gateway);
  process.kill(ready.find(lives) ?? 0, 'SIGKILL');
  await until(() => workersOf(gateway).length > ready.length);
  const another = startLoad(t, 8, quotaKey);
  await until(() => another.seen.wrong.length > 50 && load.seen.wrong.length > 50);
  await Promise.all([load.stop(), another.stop()]);
  const answered = load.seen.answered + another.seen.answered;
  assert.ok(answered <= limit && answered > 50, `${answered} of ${limit}`);
  const reached = upstream.requests.length - arrived;
  assert.ok(reached <= limit, `${reached} reached the upstream`);
  assert.deepEqual([...new Set([...load.seen.wrong, ...another.seen.wrong])], ['status 429']);
});

test('SIGTERM to one worker lets it finish, is not taken for the end of the whole, and another takes its place', async (t) => {
  const waiting: (() => void)[] = [];
  upstream.handler = (_, res) => void waiting.push(() => res.end('ok'));
  const before = await answeredSoFar();
  const ready = workersOf(gateway);
  const retiring = ready.find(lives) ?? 0;
  // So many that each of the two is given some.
  const clients = await Promise.all(Array.from({ length: 20 }, () => openRaw(t, gateway.port)));
  for (const client of clients) client.write(get('/v1/x'));
  await until(() => waiting.length === clients.length);
  process.kill(retiring, 'SIGTERM');
  await until(() => workersOf(gateway).length > ready.length);
  assert.ok(lives(retiring));
  for (const answer of waiting) answer();
  for (const client of clients) assert.equal((await client.responses(1))[0]?.status, 200);
  await until(() => !lives(retiring));
  await untilReady((reasons) => reasons.every((reason) => !reason.includes('workers')));
  await until(async () => (await answeredSoFar()) - before === clients.length);
});

test('SIGTERM to all workers at once leaves nobody without one that listens', async (t) => {
  upstream.handler = (_, res) => void res.end('ok');
  const leaving = workersOf(gateway).filter(lives);
  const load = startLoad(t, 4);
  await until(() => load.seen.answered > 20);
  for (const pid of leaving) process.kill(pid, 'SIGTERM');
  await until(() => !leaving.some(lives));
  await load.stop();
  assert.deepEqual(load.seen.wrong, []);
  await until(() => workersOf(gateway).filter(lives).length === 2);
});

test('workers share a port with each other, and with no other gateway', async () => {
  const file = join(gateway.folder, 'other.yaml');
  const base = overlay(baseConfig('http://127.0.0.1:9', gateway.folder), { workers: 2 });
  writeFileSync(file, stringify({ ...base, listen: gateway.url.slice('http://'.length) }));
  const ended = await commandHere(['serve', '--config', file]);
  assert.match(ended.stderr, /^gatehouse: cannot listen on \S+ \(listen\): another process uses it\n$/);
  assert.equal(ended.code, 69);
});

test('there is one ready line, and every line of the log is whole, however long', async (t) => {
  upstream.handler = (_, res) => void res.end('ok');
  const path = `/v1/${'x'.repeat(9000)}`;
  const clients = await Promise.all(Array.from({ length: 8 }, () => openRaw(t, gateway.port)));
  for (let round = 1; round <= 20; round += 1) {
    for (const client of clients) client.write(get(path));
    await Promise.all(clients.map((client) => client.responses(round)));
  }
  const answered = (): number =>
    gateway.logs().filter((line) => line['path'] === path && line['status'] === 200).length;
  await until(() => answered() >= 160);
  for (const line of gateway.logText().split('\n').slice(0, -1)) JSON.parse(line);
  assert.equal(answered(), 160);
  assert.equal(gateway.logs().filter(({ msg }) => String(msg).startsWith('ready')).length, 1);
});

test('keys that are in the file and in the store are told of once at the start and by each reload, but for revoked ones', async () => {
  const told = () =>
    onFile
      .logs()
      .filter(({ msg }) => String(msg).startsWith('keys of the file are in the store'))
      .map(({ level, keyIds }) => [level, keyIds]);
  const line = ['warn', ['demo', 'renamed']];
  await until(() => told().length === 1);
  // Another tells of it when the one that did has been replaced.
  process.kill(workersOf(onFile)[0] ?? 0, 'SIGKILL');
  await until(() => workersOf(onFile).length === 3);
  appendFileSync(onFile.configFile, '\n');
  onFile.child.kill('SIGHUP');
  await until(() => told().length === 2);
  assert.deepEqual(told(), [line, line]);
});

test('a worker that is replaced makes no store in the place of one that vanished, and takes no other', async () => {
  const theirs = (end: string): string => `${onFile.folder}/theirs.db${end}`;
  const starts = (reason: string): number =>
    onFile.logText().split(`the store cannot be opened: ${reason}`).length - 1;
  await until(() => workersOf(onFile).filter(lives).length === 2);
  const ready = workersOf(onFile);
  for (const end of ['', '-wal', '-shm']) renameSync(filled + end, theirs(end));
  process.kill(ready.find(lives) ?? 0, 'SIGKILL');
  await until(() => starts(`cannot open ${filled}: there is no such file`) > 0);
  assert.ok(!existsSync(filled));
  await (await openStore({ kind: 'sqlite', path: filled })).close();
  await until(() => starts(`${filled} is not the database that it was at the start`) > 0);
  removeStore(filled);
  for (const end of ['', '-wal', '-shm']) renameSync(theirs(end), filled + end);
  await until(() => workersOf(onFile).length === ready.length + 1);
});

test('a worker that hangs is told of, and so is its next answer, and the next page shows the pause; a gateway whose workers all hang is not ready', async () => {
  const [hung = 0, other = 0] = workersOf(gateway).filter(lives);
  const told = (msg: string): Promise<unknown> =>
    until(() => gateway.logs().some((line) => line['msg'] === msg && line['pid'] === hung));
  process.kill(hung, 'SIGSTOP');
  await told('a worker does not answer');
  await untilReady((reasons) => reasons.includes('1 of 2 workers do not answer'));
  process.kill(other, 'SIGSTOP');
  for (const query of ['', '?exclude=store']) {
    await until(async () => {
      const { status, reasons } = await gateway.readiness(query);
      return status === 503 && reasons.includes('2 of 2 workers do not answer');
    });
  }
  for (const pid of [other, hung]) process.kill(pid, 'SIGCONT');
  await told('a worker answers again');
  const page = await gateway.metrics();
  const pauseSeconds = Number(/^nodejs_eventloop_lag_max_seconds (.+)$/m.exec(page)?.[1]);
  assert.ok(pauseSeconds > 1, `the longest pause since the last page is one of ${pauseSeconds} s`);
});

test('what a worker had counted is kept when it is killed, though nobody asked for it', async (t) => {
  upstream.handler = (_, res) => void res.end('ok');
  await until(() => workersOf(brief).length === 2);
  const [one = 0, other = 0] = workersOf(brief);
  const clients = await Promise.all(Array.from({ length: 20 }, () => openRaw(t, brief.port)));
  for (const client of clients) {
    client.write(get('/v1/x'));
    await client.responses(1);
  }
  // It is told of after some rounds, in each of which the leading process asked the other one.
  process.kill(other, 'SIGSTOP');
  t.after(() => void (lives(other) && process.kill(other, 'SIGCONT')));
  await until(() => brief.logs().some(({ msg }) => msg === 'a worker does not answer'));
  process.kill(one, 'SIGKILL');
  await until(() => !lives(one));
  process.kill(other, 'SIGCONT');
  await until(async () => (await answeredSoFar(brief)) >= clients.length, { within: 10_000 });
  assert.equal(await answeredSoFar(brief), clients.length);
});

test('a worker that has a fault tells of it in the log, and is replaced', async () => {
  await until(() => workersOf(brief).filter(lives).length === 2);
  const ready = workersOf(brief);
  const told = () => brief.logs().filter(({ level }) => level === 'fatal' || level === 'error');
  const before = told().length;
  process.kill(ready.find(lives) ?? 0, 'SIGUSR2');
  await until(() => workersOf(brief).length > ready.length);
  assert.deepEqual(
    told()
      .slice(before)
      .map(({ msg, code }) => [String(msg).split(',')[0], code]),
    [
      ['a fault of the gateway itself', undefined],
      ['a worker ended', 70],
    ],
  );
});

test('a worker that does not come to the end of its drain is told of', async (t) => {
  let arrived = 0;
  upstream.handler = () => void (arrived += 1);
  await until(() => workersOf(brief).filter(lives).length === 2);
  const errors = () => brief.logs().filter(({ level }) => level === 'error');
  const before = errors().length;
  const [killed = 0, hung = 0] = workersOf(brief).filter(lives);
  // So many that each of the two is given some.
  const clients = await Promise.all(Array.from({ length: 16 }, () => openRaw(t, brief.port)));
  for (const client of clients) client.write(get('/v1/slow'));
  await until(() => arrived === clients.length);
  // The one that is killed is held up as well, or it might come to its own end first.
  for (const pid of [killed, hung]) process.kill(pid, 'SIGSTOP');
  t.after(() => void (lives(hung) && process.kill(hung, 'SIGKILL')));
  brief.child.kill('SIGTERM');
  await until(() => brief.logs().some(({ msg }) => String(msg).startsWith('stopping')));
  process.kill(killed, 'SIGKILL');
  await brief.exited;
  const told = errors().slice(before);
  assert.deepEqual(
    told.map(({ msg, pid, signal }) => [msg, pid, signal]),
    [
      ['a worker ended before it had finished', killed, 'SIGKILL'],
      ['a worker has not finished in time and is killed', hung, undefined],
    ],
  );
});

test('a drain waits for what every worker has in flight, also for one that is still starting and serves already, while another gateway takes the port', async (t) => {
  const waiting: (() => void)[] = [];
  upstream.handler = (_, res) => void waiting.push(() => res.end('late'));
  await until(() => workersOf(gateway).filter(lives).length === 2);
  const errors = () => gateway.logs().filter(({ level }) => level === 'error').length;
  const before = errors();
  writeFileSync(join(gateway.folder, lateFile), '');
  process.kill(workersOf(gateway).find(lives) ?? 0, 'SIGTERM');
  await until(() => gateway.logText().includes('serves already'));
  // So many that the one that starts is given some.
  const clients = await Promise.all(Array.from({ length: 16 }, () => openRaw(t, gateway.port)));
  for (const client of clients) client.write(get('/v1/slow'));
  await until(() => waiting.length === clients.length);
  // As a terminal does it, which tells them all.
  const serving = workersOf(gateway).filter(lives);
  for (const signal of ['SIGHUP', 'SIGINT'] as const) for (const pid of serving) process.kill(pid, signal);
  gateway.child.kill('SIGINT');
  await until(async () => (await gateway.readiness()).status === 503);
  rmSync(join(gateway.folder, lateFile));
  await until(() => refuses(gateway.port));
  // As another gateway does it.
  (await claimPort({ host: '127.0.0.1', port: gateway.port })).release();
  for (const answer of waiting) answer();
  for (const client of clients) assert.equal((await client.responses(1))[0]?.text, 'late');
  assert.deepEqual(await gateway.exited, { code: 0, signal: null });
  assert.ok(!workersOf(gateway).some(lives));
  await until(() => gateway.logs().at(-1)?.['msg'] === 'stopped');
  const told = gateway.logs().filter(({ path, status }) => path === '/v1/slow' && status === 200);
  assert.deepEqual([told.length, errors()], [clients.length, before]);
});

test('when the leading process is killed while they wait to drain its workers end, and finish what they have in flight', async (t) => {
  const waiting: (() => void)[] = [];
  upstream.handler = (_, res) => void waiting.push(() => res.end('late'));
  const client = await openRaw(t, onFile.port);
  client.write(get('/v1/slow'));
  await until(() => waiting.length === 1);
  onFile.child.kill('SIGTERM');
  await until(() => onFile.logs().some(({ msg }) => String(msg).startsWith('stopping')));
  await onFile.stop('SIGKILL');
  await until(() => refuses(onFile.port));
  for (const answer of waiting) answer();
  assert.equal((await client.responses(1))[0]?.text, 'late');
  await until(() => !workersOf(onFile).some(lives));
});

test('what keeps a worker from starting keeps all from it, with the line and code of one process', async (t) => {
  const folder = tempFolder(t);
  const notes = join(folder, 'notes.txt');
  writeFileSync(notes, 'These are notes, and not a database at all.\n'.repeat(200));
  const file = join(folder, 'gateway.yaml');
  const base = overlay(baseConfig('http://127.0.0.1:9', folder), { workers: 2, store: `sqlite:${notes}` });
  writeFileSync(file, stringify(base));
  const ended = await run(t, ['serve', '--config', file]);
  assert.match(ended.stderr, /^gatehouse: the store cannot be opened: [^\n]+\n$/);
  assert.equal(ended.code, 74);
});

test('a first worker that is killed while it starts ends the start with one clear line', async (t) => {
  const folder = tempFolder(t);
  const file = join(folder, 'gateway.yaml');
  writeFileSync(file, stringify(overlay(baseConfig('http://127.0.0.1:9', folder), { workers: 2 })));
  const ended = await run(t, ['serve', '--config', file], {
    NODE_OPTIONS: `--import=data:text/javascript,if(process.argv[2]==='worker')process.kill(process.pid,'SIGKILL')`,
  });
  assert.match(ended.stderr, /^gatehouse: the first worker was ended by SIGKILL [^\n]+ memory[^\n]+\n$/);
  assert.equal(ended.code, 70);
});

test('a first worker that hangs while it starts holds up a stop no longer than a drain would', async (t) => {
  const folder = tempFolder(t);
  const file = join(folder, 'gateway.yaml');
  const few = { workers: 2, drain: { timeout: '1s' } };
  writeFileSync(file, stringify(overlay(baseConfig('http://127.0.0.1:9', folder), few)));
  const hang = `if(process.argv[2]==='worker'){process.stderr.write('hangs\\n');process.kill(process.pid,'SIGSTOP')}`;
  const child = spawn(process.execPath, [main, 'serve', '--config', file], {
    env: { ...process.env, NODE_OPTIONS: `--import=data:text/javascript,${encodeURIComponent(hang)}` },
  });
  t.after(() => void child.kill('SIGKILL'));
  const startedAt = performance.now();
  const ended = await runOf(child, (written) => {
    if (written.includes('hangs')) child.kill('SIGTERM');
  });
  assert.match(ended.stderr, /\ngatehouse: the first worker took too long to start and was killed\n$/);
  assert.equal(ended.code, 70);
  assert.ok(performance.now() - startedAt < 40_000);
});

test('a configuration that comes to a worker while it starts is in force as soon as it serves, and once nobody leads it any more it ends, also where its drain does not', async (t) => {
  const folder = tempFolder(t);
  const handed = (path: string): HandedConfig => {
    const file = join(folder, 'gateway.yaml');
    // For a store that does not answer a start waits for a moment.
    const change = {
      workers: 2,
      store: `redis://127.0.0.1:${hole}`,
      storeDeadline: '100ms',
      routes: [{ path, methods: ['GET'], body: 'none' }],
      drain: { timeout: '100ms' },
    };
    writeFileSync(file, stringify(overlay(baseConfig(upstream.url, folder), change)));
    return { file, raw: readConfig(file, {}).raw };
  };
  upstream.handler = (_, res) => void res.end('ok');
  const neverCloses = `--import=data:text/javascript,process.getBuiltinModule('net').Server.prototype.close=function(){return(this)}`;
  cluster.setupPrimary({
    exec: main,
    execArgv: [],
    args: ['worker'],
    silent: true,
    serialization: 'advanced',
  });
  const worker = cluster.fork({ NODE_OPTIONS: neverCloses });
  t.after(() => worker.process.kill('SIGKILL'));
  const beginning = { config: handed('/v1/before'), logForm: 'json', port: 0 } as const;
  let port = 0;
  await new Promise<void>((resolve) => {
    worker.on('message', (report: Report) => {
      if (report.kind === 'ready') port = report.listen.port;
      if (report.kind === 'answer') resolve();
      if (report.kind !== 'awake') return;
      worker.send({ kind: 'begin', beginning } satisfies Order);
      worker.send({ kind: 'reload', id: 1, config: handed('/v1/after') } satisfies Order);
    });
  });
  const client = await openRaw(t, port);
  client.write(get('/v1/after'));
  assert.equal((await client.responses(1))[0]?.status, 200);
  worker.process.disconnect();
  await until(() => hasEnded(worker.process));
  assert.equal(worker.process.exitCode, 70);
});

function run(t: TestContext, args: readonly string[], env: NodeJS.ProcessEnv = {}): Promise<CliRun> {
  const child = spawn(process.execPath, [main, ...args], { env: { ...process.env, ...env } });
  t.after(() => void child.kill('SIGKILL'));
  return runOf(child);
}
