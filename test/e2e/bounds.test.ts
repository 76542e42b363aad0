import assert from 'node:assert/strict';
import type { ServerResponse } from 'node:http';
import { after, before, describe, it, test } from 'node:test';
import { assertRefused } from '../helpers/assert-refused.ts';
import { openDoor } from '../helpers/door.ts';
import { formBody } from '../helpers/form-body.ts';
import type { RawResponse } from '../helpers/parse-responses.ts';
import { until, type Scene } from '../helpers/poll.ts';
import { peakMegabytes as peakMegabytesOf } from '../helpers/process-memory.ts';
import { openRaw, type RawSocket } from '../helpers/raw-socket.ts';
import { formType } from '../helpers/send-upload.ts';
import { demoKey } from '../helpers/start-gateway.ts';

// Whatever clients send, hold back or never read, memory and what is in flight stay bounded, and it ends in time.

const megabyte = 1024 * 1024;
const door = await openDoor(
  { after },
  {
    limits: { connections: 200, inFlight: 40, inFlightPerConnection: 10, bodyMemory: '4MB' },
    routes: [
      { path: '/v1/alive', methods: ['GET'] },
      { path: '/v1/hold', methods: ['GET', 'POST'], body: { any: {} } },
      { path: '/v1/big', methods: ['GET'] },
      { path: '/v1/begun', methods: ['GET'] },
      { path: '/v1/json', methods: ['POST'], body: { json: { maxSize: '2MB', schema: {} } } },
      { path: '/v1/upload', methods: ['POST'], body: { any: { maxSize: '2MB' } } },
    ],
  },
);
const { gateway, upstream } = door;

/** Where nobody has much time. Of all else the tests know no time, or a slow machine would be taken for a slow client. */
const brisk = await openDoor(
  { after },
  {
    limits: { headerTimeout: '3s', requestTimeout: '3s', keepAlive: '500ms', stalledReader: '2s' },
    usage: { path: '/v1/usage' },
    routes: [
      { path: '/v1/alive', methods: ['GET'] },
      { path: '/v1/big', methods: ['GET'] },
      { path: '/v1/json', methods: ['POST'], body: { json: { schema: {} } } },
      { path: '/v1/upload', methods: ['POST'], body: { any: { maxSize: '2MB' } } },
      // Its bodies have ten minutes, and nobody else's.
      { path: '/v1/file', methods: ['POST'], body: { upload: { files: { file: { types: ['audio/*'] } } } } },
    ],
  },
);
brisk.upstream.handler = ({ target }, res) => {
  if (target.startsWith('/v1/big')) pour(res, 64 * megabyte);
  else res.end('fine');
};
const held: ServerResponse[] = [];
const piece = Buffer.alloc(64 * 1024, 'x');
upstream.handler = ({ target }, res) => {
  if (target === '/v1/hold') held.push(res);
  else if (target === '/v1/begun') res.write('begun');
  else if (target.startsWith('/v1/big')) pour(res, 64 * megabyte);
  else res.end('fine');
};

/** Writes as fast as it is taken. */
function pour(res: ServerResponse, bytes: number): void {
  let left = bytes;
  const more = (): void => {
    while (left > 0 && !res.destroyed) {
      left -= piece.length;
      if (!res.write(piece)) return;
    }
    res.end();
  };
  res.on('drain', more);
  more();
}

/** Fails unless the answer is the refusal for want of room, and the log names what is full. */
async function assertFull(answer: RawResponse | undefined, full: string, at = gateway): Promise<void> {
  assertRefused(answer, 'overloaded');
  assert.equal(answer?.headers['retry-after'], '1');
  const line = await at.lineOf(answer);
  assert.deepEqual(line['cause'], { type: 'Refusal', message: full, code: 'overloaded' });
  assert.equal(line['level'], 'warn');
}

const keyed = `Host: gateway.test\r\napiKey: ${demoKey}\r\n`;
const get = (path: string): string => `GET ${path} HTTP/1.1\r\n${keyed}\r\n`;
const getHeld = (part: string): string => `GET /v1/hold HTTP/1.1\r\n${keyed}X-Part: ${part}\r\n\r\n`;
const upload = (headers: string, path = '/v1/upload'): string =>
  `POST ${path} HTTP/1.1\r\n${keyed}${headers}\r\n`;
const chunked = 'Transfer-Encoding: chunked\r\n';

const peakMegabytes = (): number => peakMegabytesOf(gateway.pid);

async function nothingInFlight({ gateway: at } = door): Promise<void> {
  await until(async () => (await at.inFlight()) === 0, { what: 'nothing in flight' });
}

async function open(t: Scene, bytes: string | Buffer, { gateway: at } = door): Promise<RawSocket> {
  const raw = await openRaw(t, at.port);
  raw.write(bytes);
  return raw;
}

test('a client that pipelines 2,000 requests gets no further than ten, and nothing is made of the others', async (t) => {
  held.length = 0;
  const earlier = upstream.requests.length;
  const peak = peakMegabytes();
  const raw = await openRaw(t, gateway.port);
  for (let i = 0; i < 2000; i += 1) raw.write(get('/v1/hold'));
  await until(() => held.length === 10 && raw.socket.writableLength === 0);
  await door.stillServes();
  assert.equal(upstream.requests.length - earlier, 11);
  held.forEach((res) => res.end());
  await until(() => raw.closed);
  await nothingInFlight();
  assert.ok(peakMegabytes() - peak < 60, `${peakMegabytes() - peak} MB more`);
});

const linesOfFlood = (): number => gateway.logs().filter(({ userAgent }) => userAgent === 'flood').length;

test('of two thousand requests in one go no more are worked on than a connection may hold', async (t) => {
  const flood = 'GET /v1/nowhere HTTP/1.1\r\nHost: a\r\nUser-Agent: flood\r\n\r\n';
  const raw = await open(t, flood.repeat(2000));
  await until(() => raw.closed);
  await door.stillServes();
  await until(linesOfFlood);
  assert.ok(linesOfFlood() <= 11, `${linesOfFlood()} lines in the log`);
});

test('who pipelines a few requests too many gets all answers up to the first that is refused', async (t) => {
  held.length = 0;
  const raw = await open(t, get('/v1/hold').repeat(25));
  await until(() => held.length === 10);
  held.forEach((res) => res.end());
  await raw.receivedUntilClose();
  const answers = await raw.responses(11);
  assert.deepEqual(
    answers.map(({ status }) => status),
    [...Array.from({ length: 10 }, () => 200), 503],
  );
  await assertFull(answers.at(-1), 'limits.inFlightPerConnection is reached');
  await nothingInFlight();
});

test('of pipelined requests those that are not safe are worked on alone, in their order', async (t) => {
  held.length = 0;
  const earlier = upstream.requests.length;
  const seen = (): unknown[] => upstream.requests.slice(earlier).map(({ method }) => method);
  const post = upload('Content-Length: 2\r\n', '/v1/hold') + 'ab';
  await open(t, get('/v1/hold').repeat(2) + post + get('/v1/hold'));
  await until(() => held.length === 2);
  await door.stillServes();
  assert.deepEqual(seen().slice(0, 2), ['GET', 'GET']);
  held.splice(0).forEach((res) => res.end());
  await until(() => held.length === 1);
  await door.stillServes();
  assert.equal(seen().filter((method) => method === 'POST').length, 1);
  const [posted] = held.splice(0);
  assert.equal(posted?.req.method, 'POST');
  posted?.end();
  await until(() => held.length === 1);
  held[0]?.end();
  await nothingInFlight();
});

test('a pipelined request that asks before it sends is asked before its answer, and not in the midst of it', async (t) => {
  held.length = 0;
  const asking = `GET /v1/hold HTTP/1.1\r\n${keyed}Expect: 100-continue\r\nContent-Length: 2\r\n\r\nab`;
  const raw = await open(t, get('/v1/hold') + asking);
  for (let answered = 0; answered < 2;) {
    await until(() => held.length > 0);
    await door.stillServes();
    // Whatever is there, the last first, and each in two pieces.
    const present = held.splice(0).toReversed();
    for (const res of present) res.writeHead(200, { 'Content-Length': 4 }).write('fi');
    await door.stillServes();
    for (const res of present) res.end('ne');
    answered += present.length;
  }
  assert.deepEqual(
    (await raw.responses(2)).map(({ status, text }) => [status, text]),
    [
      [200, 'fine'],
      [100, ''],
      [200, 'fine'],
    ],
  );
});

test('what stands behind an answer that ends its connection, to a client of HTTP/1.0, never reaches the upstream', async (t) => {
  held.length = 0;
  const old = `GET /v1/hold HTTP/1.0\r\n${keyed}Connection: keep-alive\r\n\r\n`;
  const raw = await open(t, old.repeat(3));
  await until(() => held.length === 1);
  await door.stillServes();
  held[0]?.write('its length is ');
  held[0]?.end('not known');
  const bytes = await raw.receivedUntilClose();
  assert.match(bytes.toString(), /its length is not known$/);
  await nothingInFlight();
  assert.equal(held.length, 1);
});

test('a pipelined answer that breaks ends the connection behind those that are ahead of it', async (t) => {
  held.length = 0;
  const earlier = await upstreamCuts();
  const raw = await open(t, get('/v1/hold') + getHeld('broken'));
  await until(() => held.length === 2);
  const ahead = held.find(({ req }) => req.headers['x-part'] === undefined);
  const behind = held.find((res) => res !== ahead);
  behind?.writeHead(200, { 'Content-Length': 100 });
  behind?.write('abc', () => behind.destroy());
  await until(async () => (await upstreamCuts()) > earlier);
  ahead?.end('whole');
  const [answer, ...others] = await raw.responses(2);
  assert.equal(answer?.text, 'whole');
  assert.deepEqual(others, []);
  await until(() => raw.closed);
  await nothingInFlight();
  await until(() => linesOfHold().at(-1)?.['cut'] === 'upstream');
  const told = linesOfHold().slice(-2);
  assert.deepEqual(
    told.map(({ msg }) => msg),
    ['answered', 'cut short'],
  );
});

test('a pipelined answer that breaks takes nothing from a client that still sends but what is behind it', async (t) => {
  held.length = 0;
  const raw = await open(t, getHeld('ahead') + getHeld('broken') + getHeld('behind'));
  raw.socket.pause();
  await until(() => held.length === 3);
  const part = (name: string): ServerResponse => held.find(({ req }) => req.headers['x-part'] === name)!;
  part('ahead').end(Buffer.alloc(megabyte / 2, 'x'));
  part('broken').writeHead(200, { 'Content-Length': 100 });
  part('broken').write('abc', () => part('broken').destroy());
  await until(() => part('behind').destroyed);
  await nothingInFlight();
  raw.write(upload(`Content-Length: ${megabyte}\r\n`));
  for (let sent = 0; sent < 8; sent += 1) {
    raw.write(piece);
    await door.stillServes();
  }
  raw.socket.resume();
  await raw.receivedUntilClose();
  const [whole, ...others] = await raw.responses(3);
  assert.equal(whole?.body.length, megabyte / 2);
  assert.ok(others.length < 2 && others[0]?.complete !== true);
  assert.equal(raw.error, undefined);
});

for (const [what, bytes] of [
  [
    'an upgrade that is ignored',
    `GET /v1/alive HTTP/1.1\r\n${keyed}Connection: Upgrade\r\nUpgrade: h2c\r\n\r\n`,
  ],
  [
    'a refusal to who did not wait to be asked for its body',
    'POST /v1/upload HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\nContent-Length: 3\r\n\r\nabc',
  ],
] as const) {
  test(`a connection that ends behind ${what} takes no answer from a client that still sends`, async (t) => {
    held.length = 0;
    // Requests that are alone take another way.
    await open(t, getHeld('other'));
    await until(() => held.length === 1);
    const raw = await openRaw(t, gateway.port);
    raw.socket.allowHalfOpen = true;
    raw.write(bytes);
    await raw.receivedUntilClose();
    assert.equal((await raw.responses(1))[0]?.headers['connection'], 'close');
    for (let sent = 0; sent < 8; sent += 1) {
      raw.write(piece);
      await door.stillServes();
    }
    assert.deepEqual([raw.error, raw.socket.destroyed], [undefined, false]);
    held[0]?.end();
  });
}

const linesOfHold = () => gateway.logs().filter(({ path }) => path === '/v1/hold');

async function upstreamCuts(): Promise<number> {
  const metrics = await gateway.metrics();
  return Number(/^gatehouse_upstream_errors_total\{.*kind="cut".*\} (\d+)$/m.exec(metrics)?.[1] ?? 0);
}

test('a request whose turn never comes, because the client leaves, does not reach the upstream', async (t) => {
  held.length = 0;
  const raw = await open(t, get('/v1/hold') + upload('Content-Length: 2\r\n', '/v1/hold') + 'ab');
  await until(() => held.length === 1);
  raw.socket.destroy();
  await nothingInFlight();
  await door.stillServes();
  assert.equal(held.length, 1);
});

const linesOfNonsense = (): number =>
  gateway.logs().filter(({ refusal }) => refusal === 'request_malformed').length;

test('nonsense is told of once, however much of it comes while an answer is under way', async (t) => {
  held.length = 0;
  const earlier = linesOfNonsense();
  const raw = await open(t, `${get('/v1/hold')}nonsense\r\n\r\n`);
  await until(() => linesOfNonsense() > earlier && held.length === 1);
  for (let i = 0; i < 10; i += 1) {
    raw.write('more of it\r\n\r\n');
    await door.stillServes();
  }
  held[0]?.end('fine');
  assert.equal((await raw.responses(1))[0]?.text, 'fine');
  await nothingInFlight();
  assert.equal(linesOfNonsense() - earlier, 1);
});

test('more requests than the process may have in flight are refused with 503, and taken again later', async (t) => {
  held.length = 0;
  await Promise.all(Array.from({ length: 8 }, () => open(t, get('/v1/hold').repeat(5))));
  await until(() => held.length === 40);
  const [answer] = await door.send(get('/v1/alive'));
  await assertFull(answer, 'limits.inFlight is reached');
  held.forEach((res) => res.end());
  await nothingInFlight();
  await door.stillServes();
});

test('clients without a key cannot use up what may be in flight', async (t) => {
  const bytes = 'POST /v1/upload HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n5\r\n';
  const all = await Promise.all(Array.from({ length: 60 }, () => open(t, bytes)));
  await Promise.all(all.map((raw) => raw.responses(1)));
  assert.equal(await door.gateway.inFlight(), 0);
  await door.stillServes();
});

test('more connections than may be open are closed at once, and counted', async (t) => {
  const undo: (() => void)[] = [];
  const scene = { after: (action: () => void) => undo.push(action) };
  t.after(() => undo.forEach((action) => action()));
  const all = await Promise.all(Array.from({ length: 230 }, () => openRaw(scene, gateway.port)));
  for (const raw of all) raw.write('G');
  // Who is closed for being slow is answered first.
  await until(() => all.filter((raw) => raw.closed && raw.received().length === 0).length >= 30);
  const counted = /^gatehouse_connections_refused_total (\d+)$/m;
  await until(async () => Number(counted.exec(await gateway.metrics())?.[1]) >= 30);
  undo.forEach((action) => action());
  await until(() =>
    door.stillServes().then(
      () => true,
      () => false,
    ),
  );
});

const linesOfLateness = (): number =>
  brisk.gateway.logs().filter(({ refusal }) => refusal === 'request_timeout').length;

test('line ends now and then do not keep a connection, and are no request', async (t) => {
  const raw = await open(t, get('/v1/alive'), brisk);
  await raw.responses(1);
  const earlier = linesOfLateness();
  const drip = setInterval(() => raw.write('\r\n'), 100);
  t.after(() => clearInterval(drip));
  await until(() => raw.closed);
  assert.equal((await raw.responses(2)).length, 1);
  assert.equal(linesOfLateness(), earlier);
});

describe('who is slow is cut in time', { concurrency: true }, () => {
  const slow: [name: string, bytes: string, path: string | undefined][] = [
    ['stops in the request line', 'GET /v1/al', undefined],
    ['stops in the headers', `GET /v1/alive HTTP/1.1\r\n${keyed}`, undefined],
    ['stops in a declared body', upload('Content-Length: 10\r\n') + 'hello', '/v1/upload'],
    ['stops in a chunked body', upload(chunked) + '5\r\nhel', '/v1/upload'],
    [
      'sends no body after 100 Continue',
      upload('Content-Length: 10\r\nExpect: 100-continue\r\n'),
      '/v1/upload',
    ],
    ['claims a chunk near 2^64', `${upload(chunked)}fffffffffffffffe\r\nhello`, '/v1/upload'],
  ];
  for (const [name, bytes, path] of slow) {
    it(`one that ${name} is answered 408`, async (t) => {
      const sentAt = performance.now();
      const raw = await open(t, bytes, brisk);
      const answer = (await raw.responses(1)).find(({ status }) => status >= 200);
      const tookMs = performance.now() - sentAt;
      assertRefused(answer, 'request_timeout');
      assert.equal(answer?.headers['connection'], 'close');
      await raw.receivedUntilClose();
      const line = await brisk.gateway.lineOf(answer);
      assert.equal(line['refusal'], 'request_timeout');
      assert.equal(line['path'], path);
      // The connection is kept for three seconds more, so that the answer is not lost.
      assert.ok(Number(line['ms'] ?? 0) < tookMs + 1500, `${String(line['ms'])} of ${tookMs} ms`);
    });
  }

  const trickles: [name: string, head: string, drop: string][] = [
    ['headers', 'GET /v1/alive HTTP/1.1\r\n', 'X-A: a\r\n'],
    ['body', upload('Content-Length: 1000\r\n'), 'x'],
    ['chunks', upload(chunked), '1\r\nx\r\n'],
  ];
  for (const [name, head, drop] of trickles) {
    it(`one that lets its ${name} trickle is answered 408`, async (t) => {
      const raw = await open(t, head, brisk);
      const timer = setInterval(() => raw.write(drop), 100);
      t.after(() => clearInterval(timer));
      const answer = (await raw.responses(1)).find(({ status }) => status >= 200);
      assertRefused(answer, 'request_timeout');
      await raw.receivedUntilClose();
    });
  }

  const unwanted: [name: string, head: string, status: number][] = [
    ['without a key', 'POST /v1/file HTTP/1.1\r\nHost: a\r\nContent-Length: 1000\r\n\r\n', 401],
    ['of an unknown route', upload('Content-Length: 1000\r\n', '/v1/unknown'), 404],
    ['of a question', `GET /v1/usage HTTP/1.1\r\n${keyed}Content-Length: 1000\r\n\r\n`, 200],
  ];
  for (const [name, head, status] of unwanted) {
    it(`one that lets a body ${name} trickle is answered at once, no second time, and closed`, async (t) => {
      const raw = await open(t, head, brisk);
      const timer = setInterval(() => raw.write('x'), 100);
      t.after(() => clearInterval(timer));
      assert.equal((await raw.responses(1))[0]?.status, status);
      const bytes = (await raw.receivedUntilClose()).toString('latin1');
      assert.equal(bytes.split('HTTP/1.1 ').length - 1, 1, bytes);
    });
  }

  it('one that goes on with the body of a question for its usage is answered once, and closed', async (t) => {
    const raw = await open(t, `GET /v1/usage HTTP/1.1\r\n${keyed}Transfer-Encoding: chunked\r\n\r\n`, brisk);
    const timer = setInterval(() => raw.write('1\r\nx\r\n'), 10);
    t.after(() => clearInterval(timer));
    const [answer] = await raw.responses(1);
    assert.deepEqual([answer?.status, answer?.headers['connection']], [200, 'close']);
    const bytes = (await raw.receivedUntilClose()).toString('latin1');
    assert.equal(bytes.split('HTTP/1.1 ').length - 1, 1);
  });

  it('one that idles after an answer is closed', async (t) => {
    const raw = await open(t, get('/v1/alive'), brisk);
    const [answer] = await raw.responses(1);
    assert.equal(answer?.status, 200);
    await raw.receivedUntilClose();
  });

  it('one that reads nothing is cut, and its upstream call with it', async (t) => {
    const raw = await openRaw(t, brisk.gateway.port);
    raw.socket.pause();
    raw.write(get('/v1/big'));
    const earlier = brisk.upstream.requests.length;
    // The others of these tests ask for the same, and one of them is never cut.
    await until(() =>
      brisk.upstream.requests.slice(earlier).some(({ target, aborted }) => target === '/v1/big' && aborted),
    );
  });

  it('one of HTTP/1.0 that reads nothing does not find half of an answer that ends with its connection', async (t) => {
    const raw = await openRaw(t, brisk.gateway.port);
    raw.socket.pause();
    raw.write(`GET /v1/big?old HTTP/1.0\r\n${keyed}\r\n`);
    await until(() =>
      brisk.upstream.requests.some(({ target, aborted }) => target === '/v1/big?old' && aborted),
    );
    raw.socket.resume();
    await raw.receivedUntilClose();
    assert.equal(raw.error?.code, 'ECONNRESET');
  });

  it('one that reads a byte now and then is cut too', async (t) => {
    const raw = await openRaw(t, brisk.gateway.port);
    raw.socket.pause();
    raw.write(get('/v1/big'));
    const timer = setInterval(() => raw.socket.read(1), 100);
    t.after(() => clearInterval(timer));
    await until(
      () =>
        brisk.gateway.logs().filter(({ path, cut }) => path === '/v1/big' && cut === 'client').length >= 3,
    );
  });

  it('one that reads slowly but truly gets everything', async (t) => {
    const raw = await openRaw(t, brisk.gateway.port);
    const timer = setInterval(() => (raw.socket.isPaused() ? raw.socket.resume() : raw.socket.pause()), 20);
    t.after(() => clearInterval(timer));
    raw.write(get('/v1/big'));
    await until(() => raw.socket.bytesRead > 64 * megabyte);
    await until(() =>
      brisk.gateway
        .logs()
        .some(
          ({ path, cut, bytesOut }) => path === '/v1/big' && cut === undefined && bytesOut === 64 * megabyte,
        ),
    );
  });
});

test('what came in time is served, though the process stood still until it was too late', async (t) => {
  await nothingInFlight(brisk);
  const halves = [
    ['GET /v1/alive HTTP/1.1\r\n', `${keyed}\r\n`],
    [upload('Content-Length: 10\r\n'), 'helloworld'],
    [upload('Content-Length: 2\r\nContent-Type: application/json\r\n', '/v1/json'), '10'],
  ] as const;
  const raws = await Promise.all(halves.map(() => openRaw(t, brisk.gateway.port)));
  raws.forEach((raw, i) => raw.write(halves[i]?.[0] ?? ''));
  await until(async () => (await brisk.gateway.inFlight()) === 2);
  brisk.gateway.child.kill('SIGSTOP');
  raws.forEach((raw, i) => raw.write(halves[i]?.[1] ?? ''));
  const tooLate = performance.now() + 4_500;
  await until(() => performance.now() > tooLate);
  brisk.gateway.child.kill('SIGCONT');
  const statuses = await Promise.all(raws.map(async (raw) => (await raw.responses(1))[0]?.status));
  assert.deepEqual(statuses, [200, 200, 200]);
});

test('behind a body that makes no sense no more is read than behind any that is refused', async (t) => {
  const raw = await open(t, `${upload(chunked)}zz\r\n`);
  const more = Buffer.alloc(256 * 1024, 'z');
  raw.socket.on('error', () => undefined);
  const flood = (): void => {
    while (!raw.closed && raw.socket.write(more));
  };
  raw.socket.on('drain', flood);
  flood();
  await until(() => raw.closed, { within: 20_000 });
  assert.ok(raw.socket.bytesWritten < 160 * megabyte, `${raw.socket.bytesWritten} bytes`);
});

test('nothing is answered behind a framing that is faulty in HTTP/1.0', async (t) => {
  const faulty = `POST /v1/alive HTTP/1.0\r\n${keyed}Connection: keep-alive\r\n${chunked}\r\n0\r\n\r\n`;
  const raw = await open(t, get('/v1/alive') + faulty + get('/v1/alive'));
  const answers = (await raw.receivedUntilClose()).toString('latin1').match(/HTTP\/1\.1 \d+/g);
  assert.deepEqual(answers, ['HTTP/1.1 200', 'HTTP/1.1 400']);
});

describe('a body that is too large is 413, and the client can read that', () => {
  before(() => void door.reached());

  const large = Buffer.alloc(8 * megabyte, 'x');
  const huge = Buffer.alloc(50 * megabyte, 'x');
  const oneChunk = Buffer.concat([
    Buffer.from(`${large.length.toString(16)}\r\n`),
    large,
    Buffer.from('\r\n0\r\n\r\n'),
  ]);
  const bodies: [name: string, bytes: Buffer][] = [
    ['declared', Buffer.concat([Buffer.from(upload(`Content-Length: ${huge.length}\r\n`)), huge])],
    ['chunked', Buffer.concat([Buffer.from(upload(chunked)), oneChunk])],
    [
      'without a key',
      Buffer.concat([Buffer.from(`POST /v1/upload HTTP/1.1\r\nHost: a\r\n${chunked}\r\n`), oneChunk]),
    ],
    ['of an unknown route', Buffer.concat([Buffer.from(upload(chunked, '/v1/unknown')), oneChunk])],
  ];
  const codes = ['body_too_large', 'body_too_large', 'key_missing', 'route_unknown'] as const;
  for (const [i, [name, bytes]] of bodies.entries()) {
    for (const late of [false, true]) {
      it(`${name}, by a client that reads ${late ? 'only after it has sent everything' : 'at once'}`, async (t) => {
        const raw = await openRaw(t, gateway.port);
        if (late) raw.socket.pause();
        await new Promise<void>((resolve) => raw.socket.write(bytes, () => resolve()));
        raw.socket.resume();
        const [answer] = await raw.responses(1);
        assertRefused(answer, codes[i] ?? 'internal');
        assert.equal(answer?.headers['connection'], 'close');
        await raw.receivedUntilClose();
        // A chunked body is forwarded while it arrives: of one that grows too large the upstream never sees the end.
        assert.ok(door.reached().every(({ complete }) => !complete));
      });
    }
  }

  it('one that ends at the limit is taken', async (t) => {
    const raw = await open(
      t,
      Buffer.concat([
        Buffer.from(upload(`Content-Length: ${2 * megabyte}\r\n`)),
        large.subarray(0, 2 * megabyte),
      ]),
    );
    assert.equal((await raw.responses(1))[0]?.status, 200);
    assert.equal(door.reached()[0]?.body.length, 2 * megabyte);
  });

  it('one byte more is not', async (t) => {
    const raw = await open(
      t,
      Buffer.concat([
        Buffer.from(upload(chunked)),
        Buffer.from(`${(2 * megabyte).toString(16)}\r\n`),
        large.subarray(0, 2 * megabyte),
        Buffer.from('\r\n1\r\nx\r\n0\r\n\r\n'),
      ]),
    );
    assertRefused((await raw.responses(1))[0], 'body_too_large', 'The request body must be at most 2 MB');
  });
});

test('a refused short body keeps the connection usable, and is not taken for a request', async (t) => {
  const body = get('/v1/alive').repeat(500).slice(0, 60_000);
  const raw = await open(
    t,
    upload(`Content-Length: ${body.length}\r\n`, '/v1/unknown') + body + get('/v1/alive'),
  );
  const answers = await raw.responses(2);
  assertRefused(answers[0], 'route_unknown');
  assert.equal(answers[1]?.status, 200);
  raw.write(get('/v1/alive'));
  assert.equal((await raw.responses(3)).length, 3);
});

test('a body may come in small chunks as long as they are few, or hold something on average', async (t) => {
  door.reached();
  for (const chunks of ['1\r\nx\r\n'.repeat(1000), `20\r\n${'x'.repeat(32)}\r\n`.repeat(5000)]) {
    const raw = await open(t, `${upload(chunked)}${chunks}0\r\n\r\n`);
    assert.equal((await raw.responses(1))[0]?.status, 200);
  }
  assert.deepEqual(
    door.reached().map(({ body }) => body.length),
    [1000, 160_000],
  );
});

test('a body in a million chunks of one byte is refused before it costs anything', async (t) => {
  const peak = peakMegabytes();
  const raw = await open(t, upload(chunked));
  door.reached();
  raw.write(Buffer.from('1\r\nx\r\n'.repeat(megabyte)));
  const [answer] = await raw.responses(1);
  assertRefused(answer, 'body_malformed', 'The request body comes in too many small chunks');
  await raw.receivedUntilClose();
  assert.deepEqual(door.reached(), []);
  assert.ok(peakMegabytes() - peak < 60, `${peakMegabytes() - peak} MB more`);
});

test('small chunks cost no memory while their request waits for its turn', async (t) => {
  await nothingInFlight();
  door.reached();
  held.length = 0;
  const peak = peakMegabytes();
  const tooMany = '1\r\nx\r\n'.repeat(15_000);
  // More than must be on average: the network cuts a chunk here and there, which makes two of it.
  const many = `14\r\n${'x'.repeat(20)}\r\n`.repeat(5000);
  const openNine = (): Promise<RawSocket[]> =>
    Promise.all(Array.from({ length: 9 }, () => open(t, get('/v1/hold'))));
  const [refused, taken] = [await openNine(), await openNine()];
  await until(() => held.length === 18);
  for (const raw of refused) raw.write(upload(chunked) + tooMany);
  for (const raw of taken) raw.write(upload(chunked) + many);
  // Who comes later and is answered shows that what came before has been read.
  for (let round = 0; round < 3; round += 1) await door.stillServes();
  const grownBy = peakMegabytes() - peak;
  for (const res of held.splice(0)) res.end();
  for (const raw of [...refused, ...taken]) raw.write('0\r\n\r\n');
  for (const raw of refused) {
    const [first, second] = await raw.responses(2);
    assert.equal(first?.status, 200);
    assertRefused(second, 'body_malformed', 'The request body comes in too many small chunks');
  }
  for (const raw of taken) assert.equal((await raw.responses(2))[1]?.status, 200);
  const lengths = door.reached().flatMap(({ method, body }) => (method === 'POST' ? body.length : []));
  assert.deepEqual(
    lengths,
    Array.from(taken, () => 100_000),
  );
  assert.ok(grownBy < 30, `${grownBy} MB more`);
});

const memoryIsFull = 'limits.bodyMemory is used up';

test('bodies take the memory they may and no more', async (t) => {
  const part = Buffer.alloc(1.9 * megabyte, 'x');
  const length = `Content-Length: ${2 * megabyte}\r\nContent-Type: application/json\r\n`;
  const head = upload(length, '/v1/json');
  // Which of the three comes too late is for the gateway to say.
  const all = await Promise.all([open(t, head), open(t, head), open(t, head)]);
  for (const raw of all) raw.write(part);
  const late = await until(() => all.find((raw) => raw.received().length > 0));
  const [answer] = await late.responses(1);
  all.forEach((raw) => raw.socket.destroy());
  await assertFull(answer, memoryIsFull);
  await nothingInFlight();
  const again = await open(
    t,
    Buffer.concat([Buffer.from(head), Buffer.alloc(2 * megabyte - 1, ' '), Buffer.from('1')]),
  );
  assert.equal((await again.responses(1))[0]?.status, 200);
});

const chunk = (size: number): string => `${size.toString(16)}\r\n${'x'.repeat(size)}\r\n`;

/** Where there is memory for one body, and one connection to the upstream. */
const narrow = await openDoor(
  { after },
  {
    limits: { bodyMemory: '64KB' },
    upstreams: { recognition: { connections: 1 } },
    routes: [
      { path: '/v1/any', methods: ['POST'], body: { any: { maxSize: '1MB' } } },
      { path: '/v1/json', methods: ['POST'], body: { json: { maxSize: '60KB', schema: {} } } },
      { path: '/v1/form', methods: ['POST'], body: { upload: { files: { file: {} }, maxSize: '60KB' } } },
    ],
  },
);

async function begin(t: Scene): Promise<RawSocket> {
  const raw = await openRaw(t, narrow.gateway.port);
  raw.write(upload(chunked, '/v1/any') + chunk(60_000));
  return raw;
}

/** Of two there is room for one. Which it is is for the gateway to say. */
async function beginAlone(t: Scene): Promise<RawSocket> {
  const both = [await begin(t), await begin(t)] as const;
  const late = await until(() => both.find((raw) => raw.received().length > 0));
  await assertNoRoom(late);
  return both[0] === late ? both[1] : both[0];
}

/** Leaves after the refusal, or what is logged of it would come three seconds later. */
async function assertNoRoom(raw: RawSocket): Promise<void> {
  const [answer] = await raw.responses(1);
  raw.socket.destroy();
  await assertFull(answer, memoryIsFull, narrow.gateway);
}

async function holdSeat(t: Scene): Promise<() => void> {
  let answer: (() => void) | undefined;
  narrow.upstream.handler = (_request, res) => void (answer = () => res.end());
  const raw = await openRaw(t, narrow.gateway.port);
  raw.write(upload('Content-Length: 1\r\n', '/v1/any') + 'x');
  const go = await until(() => answer);
  narrow.upstream.handler = (_request, res) => res.end();
  return go;
}

/** A second time, because what the first has not given back is missing then. */
async function twice(round: () => Promise<void>): Promise<void> {
  for (let i = 0; i < 2; i += 1) {
    await round();
    await nothingInFlight(narrow);
  }
}

describe('a body that is taken as it comes holds memory while it arrives', () => {
  it('until its answer is out', async (t) => {
    narrow.upstream.handler = (_request, res) => res.end();
    await twice(async () => {
      const raw = await beginAlone(t);
      raw.write('0\r\n\r\n');
      assert.equal((await raw.responses(1))[0]?.status, 200);
    });
  });

  it('until its client leaves', async (t) => {
    await twice(async () => void (await beginAlone(t)).socket.destroy());
  });

  it('until it is refused', async (t) => {
    await twice(async () => {
      const raw = await beginAlone(t);
      raw.write('no chunk\r\n');
      assertRefused((await raw.responses(1))[0], 'request_malformed');
    });
  });

  it('until it gives up its place in the line for the upstream', async (t) => {
    const leaveSeat = await holdSeat(t);
    for (let i = 0; i < 2; i += 1) {
      const raw = await beginAlone(t);
      raw.write(chunk(10_000));
      await assertNoRoom(await begin(t));
      raw.socket.destroy();
      await until(async () => (await narrow.gateway.inFlight()) === 1);
    }
    leaveSeat();
  });

  it('until it flows to the upstream', async (t) => {
    const leaveSeat = await holdSeat(t);
    const raw = await beginAlone(t);
    raw.write(chunk(10_000));
    await assertNoRoom(await begin(t));
    leaveSeat();
    await until(() => narrow.upstream.requests.at(-1)?.body.length === 70_000);
    const next = await beginAlone(t);
    for (const end of [raw, next]) {
      end.write('0\r\n\r\n');
      assert.equal((await end.responses(1))[0]?.status, 200);
    }
  });
});

test('a body that is refused leaves its memory to others', async (t) => {
  await nothingInFlight(narrow);
  const send = async (headers: string, path: string, body: string): Promise<RawResponse | undefined> => {
    const raw = await openRaw(t, narrow.gateway.port);
    raw.write(upload(`Content-Length: ${body.length}\r\nContent-Type: ${headers}\r\n`, path) + body);
    return (await raw.responses(1))[0];
  };
  const no = 'x'.repeat(60_000);
  for (let time = 0; time < 3; time += 1) {
    assertRefused(await send('application/json', '/v1/json', no), 'body_malformed');
    assertRefused(await send(formType, '/v1/form', no), 'file_ambiguous');
  }
  assert.equal((await send('application/json', '/v1/json', `"${no.slice(2)}"`))?.status, 200);
});

test('an upload that waits for its answer has given back the memory of its text fields', async (t) => {
  await nothingInFlight(narrow);
  let answer: (() => void) | undefined;
  narrow.upstream.handler = (_request, res) => void (answer = () => res.end());
  const form = formBody([{ name: 'file', fileName: 'a', type: 'audio/wav', data: Buffer.alloc(50_000) }]);
  const raw = await openRaw(t, narrow.gateway.port);
  raw.write(upload(`Content-Length: ${form.length}\r\nContent-Type: ${formType}\r\n`, '/v1/form'));
  raw.write(form);
  const go = await until(() => answer);
  narrow.upstream.handler = (_request, res) => res.end();
  assert.match(await narrow.gateway.metrics(), /^gatehouse_body_memory_bytes 0$/m);
  go();
  assert.equal((await raw.responses(1))[0]?.status, 200);
});

test('a body that is taken as it comes passes whatever its size where the memory holds the first 64 KB', async (t) => {
  for (const size of [64 * 1024, 64 * 1024 + 1, 100_000]) {
    const raw = await openRaw(t, narrow.gateway.port);
    raw.write(`${upload(chunked, '/v1/any')}${chunk(60_000)}${chunk(size - 60_000)}0\r\n\r\n`);
    assert.equal((await raw.responses(1))[0]?.status, 200);
    assert.equal(narrow.upstream.requests.at(-1)?.body.length, size);
  }
});

const connectBytes = 'CONNECT a:80 HTTP/1.1\r\nHost: a\r\n\r\n';
const phases: [name: string, bytes: string, refusal?: string][] = [
  ['before a byte', ''],
  ['in the request line', 'GET /v1/ho'],
  ['in the headers', `GET /v1/hold HTTP/1.1\r\n${keyed}`],
  ['before the body', upload('Content-Length: 10\r\n'), 'client_gone'],
  [
    'before the body it asked to send',
    upload('Content-Length: 10\r\nExpect: 100-continue\r\n'),
    'client_gone',
  ],
  ['in the body', `${upload('Content-Length: 10\r\n')}hello`, 'client_gone'],
  ['in the chunks', `${upload(chunked)}5\r\nhel`, 'client_gone'],
  ['while the upstream works', get('/v1/hold'), 'client_gone'],
  ['while the upstream works on several', get('/v1/hold').repeat(5), 'client_gone'],
  ['with more than may be in flight', get('/v1/hold').repeat(20), 'client_gone'],
  ['in the answer', get('/v1/begun')],
  ['in the answer, with more to come', get('/v1/begun') + get('/v1/hold').repeat(3), 'client_gone'],
  ['in a large answer', get('/v1/big')],
  ['with CONNECT behind', `${get('/v1/hold')}${connectBytes}`, 'client_gone'],
  ['in a large answer, with CONNECT behind', `${get('/v1/big')}${connectBytes}`],
  ['in a refused body', `${upload(chunked, '/v1/unknown')}5\r\nhel`, 'route_unknown'],
  [
    'after an upgrade',
    get('/v1/hold').replace('\r\n\r\n', '\r\nConnection: upgrade\r\nUpgrade: websocket\r\n\r\n'),
  ],
];
for (const [name, bytes, refusal] of phases) {
  for (const how of ['ends', 'resets'] as const) {
    test(`nothing stays in flight when the client ${how} ${name}`, async (t) => {
      const lines = gateway.logs().length;
      const earlier = upstream.requests.length;
      const raw = await open(t, bytes);
      const reaches = bytes.includes('GET /v1/') && bytes.endsWith('\r\n\r\n');
      if (reaches)
        await until(
          () =>
            raw.closed ||
            raw.received().length > 0 ||
            upstream.requests
              .slice(earlier)
              .some(({ complete, target }) => complete && target === '/v1/hold'),
        );
      // Of one that is reset before it is taken nothing is told.
      else if (refusal !== undefined)
        await until(async () => raw.received().length > 0 || (await gateway.inFlight()) > 0);
      if (how === 'ends') raw.socket.destroy();
      else raw.socket.resetAndDestroy();
      await nothingInFlight();
      await door.stillServes();
      if (refusal !== undefined) {
        await until(
          () =>
            gateway
              .logs()
              .slice(lines)
              .some((line) => line['refusal'] === refusal),
          { what: `a log line with ${refusal}` },
        );
      }
    });
  }
}

test('the processes are the same, are small, and had nothing to report of themselves', async () => {
  await Promise.all([door.stillServes(), brisk.stillServes()]);
  for (const { gateway: one } of [door, brisk, narrow]) {
    assert.equal(one.child.exitCode, null);
    assert.ok(peakMegabytesOf(one.pid) < 300, `${peakMegabytesOf(one.pid)} MB at most`);
    assert.deepEqual(
      one.logs().filter(({ level }) => level === 'fatal'),
      [],
    );
  }
});
