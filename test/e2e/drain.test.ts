import assert from 'node:assert/strict';
import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readdirSync } from 'node:fs';
import { open } from 'node:fs/promises';
import type { ServerResponse } from 'node:http';
import { join } from 'node:path';
import { text as wholeText } from 'node:stream/consumers';
import { test, type TestContext } from 'node:test';
import { stringify } from 'yaml';
import { codeOf } from '../../src/content/error-code.ts';
import { until } from '../helpers/poll.ts';
import { lives, workersOf } from '../helpers/processes.ts';
import { exchange, openRaw, requestBytes, type RawSocket } from '../helpers/raw-socket.ts';
import { startRecordingUpstream } from '../helpers/recording-upstream.ts';
import { refuses } from '../helpers/refuses.ts';
import { main } from '../helpers/run-cli.ts';
import { baseConfig, demoKey, startGateway } from '../helpers/start-gateway.ts';
import { tempFolder } from '../helpers/temp-folder.ts';

const over = {
  routes: [{ path: '/v1/*', methods: ['GET', 'POST'], body: { any: {} } }],
  drain: { timeout: '800ms' },
};
const ahead = 'the answer ahead of it ends the connection';
const get = (path: string): Buffer => requestBytes(`GET ${path}`, [['apiKey', demoKey]]);

test('a SIGTERM during the start is heard', async (t) => {
  const folder = tempFolder(t);
  const file = join(folder, 'gateway.yaml');
  execFileSync('mkfifo', [file]);
  const words = [process.execPath, main, 'serve', '--config', '/dev/stdin'];
  const child = spawn('sh', ['-c', 'exec "$@" < gateway.yaml', 'sh', ...words], {
    cwd: folder,
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  t.after(() => child.kill('SIGKILL'));
  const exited = once(child, 'exit');
  const log = wholeText(child.stdout);
  const config = await open(file, 'w');
  // More than waits in a pipe, so that it is written as soon as it is read.
  await config.writeFile(`#${' '.repeat(200_000)}\n`);
  child.kill('SIGTERM');
  await config.writeFile(stringify(baseConfig('http://127.0.0.1:9', folder)));
  await config.close();
  assert.deepEqual(await exited, [0, null]);
  assert.match(await log, /"ready.*"stopping.*"stopped"/s);
});

test('on SIGTERM readiness goes at once, the port and idle connections close, of pipelined requests every one that is at work is answered and none begun behind the last, an answer that streams ends whole, and the exit is 0', async (t) => {
  const upstream = await startRecordingUpstream(t);
  const held: ServerResponse[] = [];
  let streaming: ServerResponse | undefined;
  upstream.handler = ({ target }, res) => {
    if (target === '/v1/before') return res.end('ok');
    if (target !== '/v1/stream') return held.push(res);
    streaming = res.writeHead(200, { 'content-length': 4 });
    return res.write('ab');
  };
  // It is for the drain to end the connections, not for the time that they may be idle or a head may take.
  const slow = { limits: { keepAlive: '1m', headerTimeout: '1m' } };
  const drain = { delay: '400ms', timeout: '20s' };
  const gateway = await startGateway(t, { ...over, ...slow, drain }, { upstream: upstream.url });
  assert.equal((await gateway.readiness()).status, 200);
  const idle = await openRaw(t, gateway.port);
  idle.write(get('/v1/before'));
  assert.equal((await idle.responses(1))[0]?.headers['connection'], 'keep-alive');
  const stream = await openRaw(t, gateway.port);
  stream.write(get('/v1/stream'));
  await stream.receivedUntil((bytes) => bytes.includes('ab'));
  const raw = await openRaw(t, gateway.port);
  raw.write(Buffer.concat([get('/v1/first'), get('/v1/second')]));
  await until(() => held.length === 2);
  gateway.child.kill('SIGTERM');
  await until(async () => (await gateway.readiness()).status === 503);
  await idle.receivedUntilClose();
  // Its sockets close one after the other.
  await until(() => refuses(gateway.port));
  raw.write(get('/v1/third'));
  await until(() => raw.socket.writableLength === 0);
  await gateway.metrics(); // by the time that it answers, it has read the third
  for (const res of held) res.end('done');
  streaming?.end('cd');
  assert.equal((await stream.responses(1))[0]?.text, 'abcd');
  const startedAt = performance.now();
  const answers = await raw.responses(2);
  assert.deepEqual(
    answers.map(({ text, headers }) => [text, headers['connection']]),
    [
      ['done', 'keep-alive'],
      ['done', 'close'],
    ],
  );
  assert.deepEqual(await gateway.exited, { code: 0, signal: null });
  assert.ok(performance.now() - startedAt < 15_000, `${performance.now() - startedAt} ms`);
  const others = ['/v1/before', '/v1/stream'];
  const lines = gateway
    .logs()
    .filter(({ path, status }) => status !== undefined && !others.includes(String(path)));
  assert.deepEqual(
    lines.map(({ status, msg, refusal, cause }) => [status, msg, refusal, cause]),
    [
      [200, 'answered', undefined, undefined],
      [200, 'answered', undefined, undefined],
      [503, 'refused', 'overloaded', { type: 'Refusal', message: ahead, code: 'overloaded' }],
    ],
  );
  assert.equal(upstream.requests.length, 4);
});

test('half a request holds the drain no longer than its own time', async (t) => {
  const limits = { headerTimeout: '3s', requestTimeout: '4s' };
  const routes = [
    {
      path: '/v1/*',
      methods: ['GET', 'POST'],
      body: { json: { maxSize: '1KB', schema: { type: 'object' } } },
    },
  ];
  const gateway = await startGateway(t, { routes, limits, drain: { timeout: '60s' } });
  const json = 'Content-Type: application/json\r\n';
  const halves = [
    'GET /v1/x HTTP/1.1\r\nHost: x\r\n',
    'GET /v1/x HTTP/1.1\r\nHost: x\r\nContent-Length: 900000\r\n\r\nab',
    `POST /v1/x HTTP/1.1\r\nHost: x\r\napiKey: ${demoKey}\r\n${json}Content-Length: 9\r\n\r\nab`,
  ];
  const raws = await Promise.all(halves.map(() => openRaw(t, gateway.port)));
  raws.forEach((raw, i) => raw.write(halves[i] ?? ''));
  await raws[1]?.responses(1);
  await until(async () => (await gateway.inFlight()) === 1);
  const startedAt = performance.now();
  gateway.child.kill('SIGTERM');
  assert.deepEqual(await gateway.exited, { code: 0, signal: null });
  assert.ok(performance.now() - startedAt < 30_000, `${performance.now() - startedAt} ms`);
  const answers = await Promise.all(raws.map(async (raw) => (await raw.responses(1))[0]?.status));
  assert.deepEqual(answers, [408, 401, 408]);
});

test('the drain waits for nobody longer than its timeout, says what it cuts before it says that it stopped, and resets where an end would be one', async (t) => {
  const upstream = await startRecordingUpstream(t);
  upstream.onArrival = ({ target }, res) => {
    if (target.startsWith('/v1/begun')) res.write('data: 1\n\n');
    if (target === '/v1/unread') res.end(Buffer.alloc(64 * 1024 * 1024));
  };
  const gateway = await startGateway(t, over, { upstream: upstream.url });
  const old = await openRaw(t, gateway.port);
  old.write(`GET /v1/begun-for-1.0 HTTP/1.0\r\nHost: x\r\napiKey: ${demoKey}\r\n\r\n`);
  await old.receivedUntil((received) => received.includes('data: 1'));
  const begun = await openRaw(t, gateway.port);
  begun.write(get('/v1/begun'));
  await begun.receivedUntil((received) => received.includes('data: 1'));
  const unread = await openRaw(t, gateway.port);
  unread.socket.pause();
  for (const [raw, bytes] of [
    [unread, get('/v1/unread')],
    [await openRaw(t, gateway.port), get('/v1/never')],
    [await openRaw(t, gateway.port), half('/v1/small', 9)],
    [await openRaw(t, gateway.port), half('/v1/large', 900_000)],
    [await openRaw(t, gateway.port), 'GET /v1/half-a-head HTTP/1.1\r\nHost: x\r\n'],
  ] as const)
    raw.write(bytes);
  await until(() => upstream.requests.length === 5);
  await until(async () => (await gateway.inFlight()) === 6);
  const startedAt = performance.now();
  assert.deepEqual(await gateway.stop(), { code: 0, signal: null });
  const ms = performance.now() - startedAt;
  assert.ok(ms > 700 && ms < 8000, `${ms} ms`);
  const lines = gateway.logs().filter(({ path }) => path !== undefined);
  assert.deepEqual(
    Object.fromEntries(lines.map(({ path, status, cut, refusal }) => [path, [status, cut, refusal]])),
    {
      '/v1/begun-for-1.0': [200, 'gateway', undefined],
      '/v1/begun': [200, 'gateway', undefined],
      '/v1/unread': [200, 'gateway', undefined],
      '/v1/never': [503, 'gateway', undefined],
      '/v1/small': [503, 'gateway', undefined],
      '/v1/large': [503, 'gateway', undefined],
    },
  );
  assert.ok(lines.every(({ level, msg, cause }) => level === 'warn' && msg === 'cut short' && !cause));
  assert.equal(gateway.logs().at(-1)?.['msg'], 'stopped');
  assert.doesNotMatch(gateway.logText(), /Warning|^ +at /m);
  // An answer to HTTP/1.0 ends with its connection.
  await old.receivedUntilClose();
  assert.equal(old.error?.code, 'ECONNRESET');
});

/** A request whose body has just begun. */
function half(path: string, length: number): string {
  return `POST ${path} HTTP/1.1\r\nHost: x\r\napiKey: ${demoKey}\r\nContent-Length: ${length}\r\n\r\nab`;
}

for (const { workers, first, second, code } of [
  { workers: 1, first: 'SIGINT', second: 'SIGTERM', code: 143 },
  { workers: 2, first: 'SIGTERM', second: 'SIGINT', code: 130 },
] as const) {
  test(`during the delay answers end the connections that clients keep, and ${second} after ${first} ends all at once and loses nothing that was logged, with ${workers} at work`, async (t) => {
    const held: ServerResponse[] = [];
    const upstream = await startRecordingUpstream(t, ({ target }, res) => {
      if (target === '/v1/held') held.push(res);
      else res.end('ok');
    });
    const config = { ...over, workers, drain: { delay: '30s' }, log: { level: 'debug' } };
    const gateway = await startGateway(t, config, { upstream: upstream.url });
    const kept = await openRaw(t, gateway.port);
    kept.write(get('/v1/x'));
    assert.equal((await kept.responses(1))[0]?.headers['connection'], 'keep-alive');
    const waiting = await openRaw(t, gateway.port);
    waiting.write(get('/v1/held'));
    await until(() => held.length === 1);
    gateway.child.kill(first);
    await until(async () => (await gateway.readiness()).reasons.join() === 'the gateway is stopping');
    for (const raw of [kept, await openRaw(t, gateway.port)]) await askUntilEnded(raw);
    held[0]?.end('late');
    const [late] = await waiting.responses(1);
    assert.deepEqual([late?.text, late?.headers['connection']], ['late', 'close']);
    assert.equal((await exchange(t, gateway.port, get('/v1/last'))).status, 200);
    (await openRaw(t, gateway.port)).write(get('/v1/held'));
    await until(() => held.length === 2);
    // It is no time to reload.
    gateway.child.kill('SIGHUP');
    assert.deepEqual(await gateway.stop(second), { code, signal: null });
    for (const pid of workersOf(gateway)) await until(() => !lives(pid), { within: 10_000 });
    await until(() => gateway.logs().some(({ path }) => path === '/v1/last'));
    const told = gateway.logs().filter(({ msg }) => String(msg).startsWith('stopping'));
    assert.deepEqual(
      told.map(({ level, signal }) => [level, signal]),
      [
        ['info', first],
        ['warn', second],
      ],
    );
  });
}

/** Asks on one connection again and again. It must be an answer that ends it, and not the end of the delay in the middle of a request. */
async function askUntilEnded(raw: RawSocket): Promise<void> {
  for (let asked = (await raw.responses(0)).length + 1; ; asked += 1) {
    raw.write(get('/v1/x'));
    const answers = await raw.responses(asked);
    assert.equal(answers.length, asked);
    assert.equal(answers.at(-1)?.status, 200);
    if (answers.at(-1)?.headers['connection'] === 'close') return;
  }
}

test('under steady load no request is lost: each gets its answer, or was never taken', async (t) => {
  const upstream = await startRecordingUpstream(t, (_, res) => void setTimeout(() => res.end('ok'), 3));
  const gateway = await startGateway(t, over, { upstream: upstream.url });
  const outcomes = await loadUntilRefused(gateway.port, () => gateway.child.kill('SIGTERM'));
  assert.deepEqual(await gateway.exited, { code: 0, signal: null });
  assert.deepEqual(outcomes.lost, []);
  assert.ok(outcomes.answered > 100, `${outcomes.answered}`);
  const reported = gateway.logs().filter(({ status }) => status === 200).length;
  assert.equal(reported, outcomes.answered);
  assert.equal(upstream.requests.length, outcomes.answered);
});

for (const workers of [1, 2]) {
  test(`a request that was sent before the drain begins is answered, and an operator who has sent half of a change holds it not up, with ${workers} at work`, async (t) => {
    const upstream = await startRecordingUpstream(t, (_, res) => void res.end('ok'));
    const config = { ...over, workers, admin: { token }, drain: { timeout: '10m' }, log: { level: 'debug' } };
    const gateway = await startGateway(t, config, { upstream: upstream.url });
    await until(() => workersOf(gateway).length === (workers === 1 ? 0 : workers));
    const change = await beginChange(t, Number(new URL(gateway.adminUrl).port));
    const connect = (): Promise<RawSocket> => openRaw(t, gateway.port);
    const kept = await Promise.all(Array.from({ length: 20 }, connect));
    for (const raw of kept) raw.write(get('/v1/x'));
    for (const raw of kept) await raw.responses(1);
    // Now all that comes waits in the kernel, and the new connections are taken by nobody.
    const pids = [gateway.pid, ...workersOf(gateway)];
    for (const pid of pids) process.kill(pid, 'SIGSTOP');
    const fresh = await Promise.all(Array.from({ length: 150 }, connect));
    for (const raw of [...kept, ...fresh]) raw.write(get('/v1/x'));
    gateway.child.kill('SIGTERM');
    for (const pid of pids) process.kill(pid, 'SIGCONT');
    for (const [raws, count] of [
      [kept, 2],
      [fresh, 1],
    ] as const) {
      for (const raw of raws) assert.equal((await raw.responses(count))[count - 1]?.status, 200);
    }
    assert.equal((await change.responses(1)).at(-1)?.status, 503);
    assert.deepEqual(await gateway.exited, { code: 0, signal: null });
    assert.equal(gateway.logs().at(-1)?.['msg'], 'stopped');
    // The last to close a store of SQLite leaves all of it in one file.
    assert.deepEqual(
      readdirSync(gateway.folder).filter((name) => name.startsWith('gatehouse.db')),
      ['gatehouse.db'],
    );
  });
}

const token = 'an-admin-token-of-enough-letters';

/** Sends the first half of an import, which waits for the second. */
async function beginChange(t: TestContext, adminPort: number): Promise<RawSocket> {
  const raw = await openRaw(t, adminPort);
  raw.write(
    requestBytes('POST /v1/import', [
      ['Host', `127.0.0.1:${adminPort}`],
      ['Authorization', `Bearer ${token}`],
      ['Content-Type', 'application/jsonl'],
      ['Expect', '100-continue'],
      ['Transfer-Encoding', 'chunked'],
    ]),
  );
  await raw.receivedUntil((bytes) => bytes.includes('100 Continue'));
  raw.write('5\r\n{"pla\r\n');
  return raw;
}

/** Eight clients with a row of requests each. One that finds its idle connection closed tries anew, as browsers do. */
async function loadUntilRefused(port: number, stop: () => void) {
  const lost: string[] = [];
  let answered = 0;
  async function ask(): Promise<boolean> {
    let answer: Response;
    try {
      answer = await fetch(`http://127.0.0.1:${port}/v1/x`, { headers: { apiKey: demoKey } });
    } catch (error) {
      return codeOf((error as Error).cause) !== 'ECONNREFUSED';
    }
    const text = await answer.text().catch(String);
    if (text !== 'ok') lost.push(`${answer.status} ${text}`);
    answered += 1;
    if (answered === 150) stop(); // once: a second signal would end it at once
    return true;
  }
  const client = async (): Promise<void> => {
    while (await ask());
  };
  await Promise.all(Array.from({ length: 8 }, client));
  return { lost, answered };
}
