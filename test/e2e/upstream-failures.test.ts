import assert from 'node:assert/strict';
import { createSecureServer } from 'node:http2';
import { createServer, type Socket } from 'node:net';
import { after, test } from 'node:test';
import { catalogue, type RefusalCode } from '../../src/refusals.ts';
import { assertRefused } from '../helpers/assert-refused.ts';
import { openBlackHole } from '../helpers/black-hole.ts';
import { makeCertificate } from '../helpers/certificates.ts';
import { listen } from '../helpers/listen.ts';
import type { RawResponse } from '../helpers/parse-responses.ts';
import { until } from '../helpers/poll.ts';
import { exchange, openRaw, requestBytes } from '../helpers/raw-socket.ts';
import { startRawUpstream } from '../helpers/raw-upstream.ts';
import { startRecordingUpstream } from '../helpers/recording-upstream.ts';
import { demoKey, startGateway } from '../helpers/start-gateway.ts';

const scene = { after };
const trusted = makeCertificate(scene, ['IP:127.0.0.1']);
const unknown = makeCertificate(scene, ['IP:127.0.0.1']);
const named = makeCertificate(scene, ['DNS:localhost']);
const tls = await startTls(trusted);
const selfSigned = await startTls(unknown);
const misnamed = await startTls(named);
const one = await startRecordingUpstream(scene);
const two = await startRecordingUpstream(scene);
const kept = await startRawUpstream(scene);
const leaving = await startRawUpstream(scene);
const silent = await startRawUpstream(scene);
const deaf = await startRawUpstream(scene);
const early = await startRecordingUpstream(scene, (_, res) => res.headersSent || res.end('fine'));
const narrow = await startRawUpstream(scene);
const busyOne = await startRawUpstream(scene);
const busyTwo = await startRawUpstream(scene);
const reluctant = await startReluctant();
const full = await openBlackHole(scene);
/** More than what the kernel keeps for a connection on both sides. */
const bodyBytes = 15_000_000;
const ok = 'HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok';
/** For those that answer, also on a machine that does something else for a while. */
const patient = { connect: '10s', response: '10s', idle: '10s' };
/** Where some are to be answered, and others are to wait for as long as an answer may take. */
const lateMs = 2000;
const limited = { ...patient, response: `${lateMs}ms` };
/** The system as it is: it answers two questions about names at a time, and for silent.test its resolver says nothing. */
const system = `
import dns from 'node:dns';
import { syncBuiltinESMExports } from 'node:module';
const { lookup } = dns;
let atWork = 0;
const inLine = [];
function next() {
  if (atWork === 2 || inLine.length === 0) return;
  atWork += 1;
  const [host, options, callback] = inLine.shift();
  if (host === 'silent.test') return;
  lookup(host, options, (...answer) => {
    atWork -= 1;
    callback(...answer);
    next();
  });
}
dns.lookup = (...question) => {
  inLine.push(question);
  next();
};
syncBuiltinESMExports();
`;

const nodeOptions = `--insecure-http-parser --import data:text/javascript,${encodeURIComponent(system)}`;

const routes = [
  'refused unresolvable full silent mute tls self misnamed named pair kept stale leaving narrow early busy deaf',
  'hole half spoken unspoken unspoken-secret',
].flatMap((names) => names.split(' '));
const gateway = await startGateway(
  scene,
  {
    upstreams: {
      recognition: undefined,
      refused: { targets: ['http://127.0.0.1:1'], timeouts: patient },
      unresolvable: { targets: ['http://no-such-host.invalid'], timeouts: { connect: '30s' } },
      full: { targets: [`http://127.0.0.1:${full}`], timeouts: { connect: '100ms', response: '5s' } },
      silent: { targets: [silent.url], timeouts: { ...patient, response: '300ms' } },
      mute: { targets: [silent.url], timeouts: patient },
      tls: { targets: [`https://127.0.0.1:${tls}`], ca: trusted.cert, timeouts: patient, preserveHost: true },
      deaf: { targets: [`https://127.0.0.1:${deaf.port}`], timeouts: patient },
      self: { targets: [`https://127.0.0.1:${selfSigned}`], timeouts: patient },
      misnamed: {
        targets: [`https://127.0.0.1:${misnamed}`],
        ca: named.cert,
        timeouts: patient,
        preserveHost: true,
      },
      named: {
        targets: [`https://localhost:${misnamed}`],
        ca: named.cert,
        timeouts: patient,
        preserveHost: true,
      },
      pair: { targets: [one.url, two.url], timeouts: patient },
      half: {
        targets: [one.url, `http://127.0.0.1:${full}`],
        timeouts: limited,
      },
      kept: { targets: [kept.url], timeouts: patient },
      stale: { targets: [kept.url], timeouts: patient, connections: 1 },
      leaving: { targets: [leaving.url, kept.url], timeouts: patient },
      early: { targets: [early.url], timeouts: patient },
      narrow: { targets: [narrow.url], timeouts: limited, connections: 1 },
      hole: {
        targets: [`http://127.0.0.1:${full}`, one.url],
        timeouts: { connect: '1s', response: '20s' },
        connections: 2,
      },
      spoken: { targets: [`http://localhost:${one.port}`], timeouts: patient },
      unspoken: { targets: ['http://silent.test'], timeouts: { connect: '200ms' } },
      'unspoken-secret': { targets: ['https://silent.test'], timeouts: { connect: '200ms' } },
      busy: { targets: [busyOne.url, busyTwo.url], timeouts: limited, connections: 1 },
      reluctant: {
        targets: [`http://127.0.0.1:${reluctant}`],
        timeouts: limited,
      },
    },
    versions: undefined,
    routes: [
      ...routes.map((upstream) => ({
        path: `/${upstream}/*`,
        methods: ['GET', 'POST', 'OPTIONS', 'DELETE'],
        upstream,
        body: { any: {} },
      })),
      {
        path: '/json',
        methods: ['GET', 'POST', 'OPTIONS', 'DELETE'],
        upstream: 'kept',
        body: { json: { maxSize: '1MB' } },
      },
      { path: '/reluctant', methods: ['POST'], upstream: 'reluctant', body: { json: { maxSize: '20MB' } } },
    ],
  },
  { env: { NODE_OPTIONS: nodeOptions, NODE_TLS_REJECT_UNAUTHORIZED: '0' } },
);

const ask = (
  t: { after(undo: () => void): void },
  line: string,
  headers: [string, string][] = [],
  body = '',
) => exchange(t, gateway.port, requestBytes(line, [['apiKey', demoKey], ...headers], body));

const unanswered: readonly [name: string, line: string, refusal: RefusalCode, cause: RegExp][] = [
  ['refuses connections', 'GET /refused/x', 'upstream_unreachable', /ECONNREFUSED/],
  ['has no address', 'GET /unresolvable/x', 'upstream_unreachable', /ENOTFOUND|EAI_AGAIN/],
  ['does not accept in time', 'GET /full/x', 'upstream_timeout', /CONNECT_TIMEOUT/],
  ['does not answer in time', 'POST /silent/x', 'upstream_timeout', /RESPONSE_TIMEOUT/],
  ['signed its certificate itself', 'GET /self/x', 'upstream_unreachable', /SELF_SIGNED|DEPTH_ZERO/],
  [
    'has a certificate for another name',
    'GET /misnamed/x',
    'upstream_unreachable',
    /ERR_TLS_CERT_ALTNAME_INVALID/,
  ],
];
for (const [name, line, refusal, cause] of unanswered) {
  test(`an upstream that ${name} is a ${catalogue[refusal].status}`, async (t) => {
    const startedAt = performance.now();
    const answer = await ask(t, line);
    assertRefused(answer, refusal);
    assert.ok(performance.now() - startedAt < 8000);
    const logged = await gateway.lineOf(answer);
    assert.deepEqual(
      [logged['refusal'], logged['status'], logged['level']],
      [refusal, answer.status, 'warn'],
    );
    assert.match(String((logged['cause'] as { code?: unknown }).code), cause);
  });
}

test('an https upstream is verified against `ca`, speaks HTTP/1.1, and its headers arrive', async (t) => {
  for (const host of ['one.test', 'two.test', '10.1.2.3']) {
    const answer = await ask(t, 'GET /tls/x', [['Host', host]]);
    assert.equal(answer.status, 200);
    assert.equal(answer.headers['x-upstream'], 'tls');
    assert.deepEqual(JSON.parse(answer.text), { version: '1.1', host, connection: 1 });
  }
});

test('uploads to an https target share its connections, though it answers at once, and whatever Host each names', async (t) => {
  const upload = 'x'.repeat(100_000);
  let hosts = 0;
  const send = async (): Promise<number> => {
    const answer = await ask(t, 'POST /tls/x', [['Host', `${(hosts += 1)}.test`]], upload);
    return (JSON.parse(answer.text) as { connection: number }).connection;
  };
  const before = await send();
  // Those of a slow machine may be closed now and then because nobody has used them for a while.
  for (let turn = 0; turn < 10; turn += 1) await Promise.all([send(), send(), send(), send()]);
  const opened = (await send()) - before;
  assert.ok(opened <= 8, `${opened} connections`);
});

test("the name that is verified is the target's own, never the Host that a client sends", async (t) => {
  for (const body of ['', 'x'.repeat(100_000)]) {
    assert.equal((await ask(t, 'POST /misnamed/x', [['Host', 'localhost']], body)).status, 502);
    assert.equal((await ask(t, 'POST /named/x', [['Host', 'elsewhere.test']], body)).status, 200);
  }
});

test('connections to an https target are tried side by side, not one before all others', async (t) => {
  const answers = Array.from({ length: 4 }, () => ask(t, 'GET /deaf/x'));
  await until(() => deaf.sockets.size === 4);
  for (const socket of deaf.sockets) socket.destroy();
  for (const answer of answers) assert.equal((await answer).status, 502);
});

test('the time to connect is kept to the tenth of a second', async (t) => {
  // A slow machine is slow now and then; a coarse timer is late each time.
  await until(async () => {
    const startedAt = performance.now();
    assert.equal((await ask(t, 'GET /full/x')).status, 504);
    return performance.now() - startedAt < 800;
  });
});

async function unreached(name: string): Promise<number> {
  const metrics = await gateway.metrics();
  const line = new RegExp(`_upstream_errors_total\\{upstream="${name}",kind="unreachable"\\} (\\d+)`).exec(
    metrics,
  );
  return Number(line?.[1] ?? 0);
}

test('two targets take turns; one that is down is left aside without a failure, and comes back', async (t) => {
  const share = async (count: number): Promise<[number, number]> => {
    const before = [one.requests.length, two.requests.length];
    for (let i = 0; i < count; i += 1) assert.equal((await ask(t, 'POST /pair/x', [], 'body')).status, 200);
    return [one.requests.length - (before[0] ?? 0), two.requests.length - (before[1] ?? 0)];
  };
  assert.deepEqual(await share(10), [5, 5]);
  await two.close();
  const before = await unreached('pair');
  assert.deepEqual(await share(10), [10, 0]);
  assert.equal(await unreached('pair'), before + 1, 'another target answered, and the failure is counted');
  await two.reopen();
  await until(async () => (await share(2))[1] > 0);
  assert.deepEqual(await share(10), [5, 5]);
  assert.deepEqual(await until(() => (told('pair').length < 2 ? undefined : told('pair'))), [
    [two.url, 'warn', 'a target cannot be used'],
    [two.url, 'warn', 'a target is used again'],
  ]);
});

test('with both targets down the answer is 502, and the first that is back serves at once', async (t) => {
  await Promise.all([one.close(), two.close()]);
  assert.equal((await ask(t, 'GET /pair/x')).status, 502);
  await one.reopen();
  await until(async () => (await ask(t, 'GET /pair/x')).status === 200);
  await two.reopen();
});

const large = JSON.stringify('x'.repeat(70_000));
const endsOnce = (socket: Socket, times: number) =>
  times === 1 ? socket.resetAndDestroy() : socket.write(ok);
const givenUp: readonly (readonly [
  name: string,
  line: string,
  befalls: (socket: Socket, times: number) => unknown,
  status: number,
  times: number,
  body?: string,
])[] = [
  ['a GET is sent once more', 'GET /kept/x', endsOnce, 200, 2],
  ['an OPTIONS is sent once more', 'OPTIONS /kept/x', endsOnce, 200, 2],
  ['a POST is sent only once', 'POST /kept/x', endsOnce, 502, 1],
  ['a DELETE is sent only once', 'DELETE /kept/x', endsOnce, 502, 1],
  ['a large POST in memory is sent only once', 'POST /json', (socket) => socket.end(), 502, 1, large],
  // It is read while it is sent, and only once.
  ['a large POST that streams is sent only once', 'POST /kept/x', (socket) => socket.end(), 502, 1, large],
  ['a GET is sent twice and no more', 'GET /kept/x', (socket) => socket.end(), 502, 2],
  ['a GET whose answer has begun is sent only once', 'GET /kept/x', (socket) => socket.end('HTTP/1'), 502, 1],
];
for (const [name, line, befalls, status, times, body] of givenUp) {
  test(`on a kept connection that the upstream gives up ${name}`, async (t) => {
    const send = () => ask(t, line, [['Content-Type', 'application/json']], body);
    kept.script = (socket) => void socket.write(ok);
    assert.equal((await send()).status, 200);
    let seen = 0;
    kept.script = (socket) => {
      seen += 1;
      befalls(socket, seen);
    };
    assert.equal((await send()).status, status);
    assert.equal(seen, times);
  });
}

for (const [size, body] of Object.entries({ small: 'body', large: 'x'.repeat(70_000) })) {
  for (const method of ['GET', 'OPTIONS', 'DELETE']) {
    test(`a ${method} with a ${size} body, which the upstream may leave unread, has a connection of its own`, async (t) => {
      kept.script = (socket) => void socket.write(ok);
      await ask(t, 'POST /kept/warm', [], body);
      const before = kept.received.length;
      assert.equal((await ask(t, `${method} /kept/x`, [], body)).status, 200);
      assert.equal((await ask(t, 'POST /kept/next', [], body)).status, 200);
      const since = kept.received.slice(before).map(String);
      assert.equal(since.length, 1);
      assert.match(since[0] ?? '', new RegExp(`^${method} /kept/x .*\\r\\nconnection: close\\r\\n`, 'is'));
    });
  }
  for (const scheme of ['Negotiate', 'ntlm', 'Kerberos']) {
    test(`a ${size} POST that signs in its connection (${scheme}) has one of its own, so nobody else speaks in its caller's name`, async (t) => {
      kept.script = (socket) => void socket.write(ok);
      await ask(t, 'POST /kept/warm', [], body);
      const before = kept.received.length;
      const signedIn = await ask(t, 'POST /kept/x', [['Authorization', `${scheme} YII=`]], body);
      assert.equal(signedIn.status, 200);
      assert.equal((await ask(t, 'POST /kept/next', [], body)).status, 200);
      const since = kept.received.slice(before).map(String);
      assert.equal(since.length, 1);
      assert.match(since[0] ?? '', /^POST \/kept\/x .*\r\nconnection: close\r\n/is);
    });
  }
}

test('a GET whose kept connection was closed goes over a new one, not over another that is closed too', async (t) => {
  const used = new WeakSet<Socket>();
  kept.script = (socket) => {
    if (used.has(socket)) socket.resetAndDestroy();
    else socket.write(ok);
    used.add(socket);
  };
  // All of them stand in line for the one connection, which somebody else has used when a repeat gets it.
  const answers = await Promise.all(Array.from({ length: 10 }, () => ask(t, 'GET /stale/x')));
  assert.deepEqual(new Set(answers.map(({ status }) => status)), new Set([200]));
});

test('a target that cannot be reached does not use up what a GET on a kept connection is forgiven', async (t) => {
  leaving.script = (socket) => void socket.write(ok);
  kept.script = (socket) => void socket.write(ok);
  for (let i = 0; i < 2; i += 1) assert.equal((await ask(t, 'GET /leaving/warm')).status, 200);
  await leaving.close();
  // The turn of the one that is there; then that of the other, which cannot be reached.
  assert.equal((await ask(t, 'GET /leaving/warm')).status, 200);
  const warm = new Set(kept.sockets);
  kept.script = (socket) => void (warm.has(socket) ? socket.resetAndDestroy() : socket.write(ok));
  assert.equal((await ask(t, 'GET /leaving/x')).status, 200);
  assert.deepEqual(await until(() => (told('leaving').length < 1 ? undefined : told('leaving'))), [
    [leaving.url, 'warn', 'a target cannot be used'],
  ]);
});

for (const end of ['closes', 'resets'] as const) {
  test(`a GET on a connection of its own that the upstream ${end} is not sent again: it may have been worked on`, async (t) => {
    let seen = 0;
    kept.script = (socket) => {
      seen += 1;
      if (end === 'closes') socket.end();
      else socket.resetAndDestroy();
    };
    assert.equal((await ask(t, 'GET /kept/x', [], 'body')).status, 502);
    assert.equal(seen, 1);
  });
}

test('a target that takes no connection is left aside though answers have less time than connections', async (t) => {
  for (let i = 0; i < 4; i += 1) assert.equal((await ask(t, 'POST /half/x', [], 'body')).status, 200);
  assert.deepEqual(await until(() => (told('half').length < 1 ? undefined : told('half'))), [
    [`http://127.0.0.1:${full}`, 'warn', 'a target cannot be used'],
  ]);
});

test('a client that leaves before the answer ends the upstream call, and is a 499 in the log alone', async (t) => {
  silent.script = () => undefined;
  const raw = await openRaw(t, gateway.port);
  const before = silent.received.length;
  raw.write(requestBytes('POST /mute/left', [['apiKey', demoKey]], 'body'));
  await until(() => silent.received.length > before && silent.sockets.size > 0);
  raw.socket.destroy();
  await until(() => silent.sockets.size === 0);
  const line = await until(() => gateway.logs().find(({ path }) => path === '/mute/left'));
  assert.equal(line['status'], 499);
  assert.equal(line['refusal'], 'client_gone');
  assert.equal(line['level'], 'info');
});

test('an answer that comes before the request was read is passed on or is a 502, and the next is right', async (t) => {
  const body = 'x'.repeat(900_000);
  for (const then of ['stays', 'ends', 'resets'] as const) {
    early.onArrival = (_, res, req) => {
      if (then !== 'stays') req.pause();
      res.writeHead(413, { 'Content-Length': 3, ...(then === 'stays' ? {} : { Connection: 'close' }) });
      res.end('big', () => then === 'resets' && req.socket.resetAndDestroy());
    };
    const answer = await ask(t, 'POST /early/x', [], body);
    assert.ok(answer.status === 413 || answer.status === 502, `${then}: ${answer.status}`);
    if (answer.status === 413) assert.equal(answer.text, 'big');
    early.onArrival = undefined;
    assert.equal((await ask(t, 'POST /early/x', [], 'short')).status, 200);
  }
});

test('requests that gave up waiting for a connection never reach the upstream, and cost it no connection', async (t) => {
  const head = 'HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n';
  narrow.script = (socket, bytes) => {
    socket.write(`${head}${bytes.includes('/narrow/slow') ? 'o' : 'ok'}`);
  };
  // Whoever reads the metrics has it looked at, too.
  const before = narrow.received.length;
  const slow = await openRaw(t, gateway.port);
  slow.write(requestBytes('GET /narrow/slow', [['apiKey', demoKey]]));
  await until(() => narrow.received[before]?.includes('/narrow/slow'));
  const socket = [...narrow.sockets].at(-1);
  const late = await Promise.all(['/narrow/late1', '/narrow/late2'].map((path) => ask(t, `GET ${path}`)));
  assert.deepEqual(
    late.map(({ status }) => status),
    [504, 504],
  );
  socket?.write('k');
  assert.equal((await slow.responses(1))[0]?.text, 'ok');
  await until(async () => (await ask(t, 'GET /narrow/next')).status === 200);
  assert.ok(!Buffer.concat(narrow.received).includes('/narrow/late'));
  assert.equal(narrow.received.length, before + 1);
});

for (const [lane, method, body] of [
  ['buffered', 'GET', ''],
  ['streamed', 'POST', 'x'.repeat(100_000)],
] as const) {
  test(`who waits for a target that turns out to be away goes to the next with those who have tried: ${lane}`, async (t) => {
    const answers = await Promise.all(
      Array.from({ length: 30 }, () => ask(t, `${method} /hole/${lane}`, [], body)),
    );
    assert.deepEqual(new Set(answers.map(({ status }) => status)), new Set([200]));
    const lines = await Promise.all(answers.map((answer) => gateway.lineOf(answer)));
    const slowest = Math.max(...lines.map(({ ms }) => Number(ms)));
    // One after the other those of the line would take fifteen times of a connect.
    assert.ok(slowest < 10_000, `the slowest took ${slowest} ms`);
  });
}

test('a request of one connection waits for the other, whichever way the two go', async (t) => {
  narrow.script = (socket) => void socket.write('HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\no');
  const held = await openRaw(t, gateway.port);
  held.write(requestBytes('GET /narrow/held', [['apiKey', demoKey]]));
  await held.receivedUntil((bytes) => bytes.includes('200 OK'));
  const answer = await ask(t, 'POST /narrow/large', [], 'x'.repeat(100_000));
  assert.equal(answer.status, 504);
  assert.ok(!Buffer.concat(narrow.received).includes('/narrow/large'));
});

for (const [lane, method, body] of [
  ['buffered', 'GET', ''],
  ['streamed', 'POST', 'x'.repeat(100_000)],
] as const) {
  test(`a target whose connections are all in use is neither unreachable nor set aside, nor is another made to wait: ${lane}`, async (t) => {
    for (const busy of [busyOne, busyTwo]) {
      busy.script = (socket) => void socket.write('HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\no');
    }
    await until(() => busyOne.sockets.size + busyTwo.sockets.size === 0);
    const held = [await openRaw(t, gateway.port), await openRaw(t, gateway.port)];
    for (const raw of held) raw.write(requestBytes(`${method} /busy/slow`, [['apiKey', demoKey]], body));
    await until(() => busyOne.sockets.size === 1 && busyTwo.sockets.size === 1);
    await until(async () => {
      const answer = await ask(t, `${method} /busy/late`, [], body);
      assert.equal(answer.status, 504);
      const line = await gateway.lineOf(answer);
      assert.equal(line['refusal'], 'upstream_timeout');
      // A slow machine is slow now and then; the time of another target as well would be twice as much each time.
      return Number(line['ms']) < 1.9 * lateMs;
    });
    assert.deepEqual(told('busy'), []);
  });
}

test('nobody waits for a target whose connections are all in use while another has some free', async (t) => {
  const both = [busyOne, busyTwo];
  for (const busy of both)
    busy.script = (socket, request) => void (request.includes('/busy/slow') || socket.write(ok));
  const arrived = (): number =>
    both.flatMap(({ received }) => received).filter((bytes) => bytes.includes('/busy/slow')).length;
  const slow = await openRaw(t, gateway.port);
  // A slow machine is slow now and then; who waits for the seat of the slow one takes its time each time.
  await until(
    async () => {
      const before = arrived();
      slow.write(requestBytes('GET /busy/slow', [['apiKey', demoKey]]));
      await until(() => arrived() > before);
      const answers: RawResponse[] = [];
      for (let turn = 0; turn < 4; turn += 1) answers.push(await ask(t, 'GET /busy/quick'));
      for (const { status } of answers) assert.equal(status, 200);
      const lines = await Promise.all(answers.map((answer) => gateway.lineOf(answer)));
      return lines.every(({ ms }) => Number(ms) < lateMs / 2);
    },
    { within: 10_000 },
  );
});

test('the time for the answer starts when a large body has been taken, however long that takes', async (t) => {
  const body = JSON.stringify('x'.repeat(bodyBytes - 2));
  const request = requestBytes(
    'POST /reluctant',
    [
      ['apiKey', demoKey],
      ['Content-Type', 'application/json'],
    ],
    body,
  );
  assert.equal((await exchange(t, gateway.port, request)).status, 200);
});

test('an answer is read as strictly where Node was told to be lenient', async (t) => {
  kept.script = (socket) =>
    void socket.write('HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\nok\n0\n\n');
  for (const [lane, size] of Object.entries({ buffered: 10, streamed: 100_000 })) {
    const { status, headers } = await ask(t, 'POST /kept/lenient', [], 'x'.repeat(size));
    assert.deepEqual([status, headers['x-gatehouse-refusal']], [502, 'upstream_broken'], lane);
  }
});

test('a name whose resolver is silent keeps no other upstream from being reached, by whatever way', async (t) => {
  // Up to 64 KB a body leaves by the buffered lane, beyond that by the streamed one.
  const bodies = ['x', 'x'.repeat(100_000)];
  const statusesOf = (...upstreams: readonly string[]): Promise<number[]> =>
    Promise.all(
      upstreams
        .flatMap((upstream) => bodies.map((body) => ask(t, `POST /${upstream}/x`, [], body)))
        .map(async (answer) => (await answer).status),
    );
  assert.deepEqual(await statusesOf('unspoken', 'unspoken-secret'), [504, 504, 504, 504]);
  assert.deepEqual(await statusesOf('spoken'), [200, 200]);
  await until(async () => {
    const { reasons } = await gateway.readiness();
    const missing = reasons.map((reason) => /of upstream (\S+)/.exec(reason)?.[1]);
    return missing.includes('unspoken') && !missing.includes('spoken');
  });
});

/** What the log says of an upstream's targets, in order. */
function told(upstream: string): unknown[][] {
  const lines = gateway
    .logs()
    .filter((line) => line['target'] !== undefined && line['upstream'] === upstream);
  return lines.map(({ target, level, msg }) => [target, level, msg]);
}

/** A server that takes nothing for longer than it has for its answer, and then all of it. */
async function startReluctant(): Promise<number> {
  const server = createServer((socket) => {
    let taken = 0;
    socket
      .on('error', () => undefined)
      .on('data', (chunk) => {
        taken += chunk.length;
        if (taken > bodyBytes)
          socket.end('HTTP/1.1 200 OK\r\nContent-Length: 0\r\nConnection: close\r\n\r\n');
      });
    socket.pause();
    setTimeout(() => socket.resume(), 1.5 * lateMs);
  });
  return listen({ after }, server);
}

/** Speaks HTTP/1.1 and HTTP/2, as many upstreams do, and tells what was spoken. */
async function startTls({ cert, key }: { cert: string; key: string }): Promise<number> {
  let connections = 0;
  const server = createSecureServer({ cert, key, allowHTTP1: true }, (req, res) => {
    const host = req.headers.host ?? req.headers[':authority'];
    res.setHeader('X-Upstream', 'tls');
    const answer = JSON.stringify({ version: req.httpVersion, host, connection: connections });
    req.resume().on('end', () => res.end(answer));
  });
  server.on('secureConnection', () => (connections += 1));
  server.on('sessionError', () => undefined);
  return listen({ after }, server);
}
