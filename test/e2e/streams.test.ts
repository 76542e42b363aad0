import assert from 'node:assert/strict';
import type { ServerResponse } from 'node:http';
import { after, test } from 'node:test';
import { gzipSync } from 'node:zlib';
import { until } from '../helpers/poll.ts';
import { openRaw, requestBytes } from '../helpers/raw-socket.ts';
import { startRawUpstream } from '../helpers/raw-upstream.ts';
import { startRecordingUpstream } from '../helpers/recording-upstream.ts';
import { demoKey, startGateway, type LogLine } from '../helpers/start-gateway.ts';

const scene = { after };
const upstream = await startRecordingUpstream(scene);
const raw = await startRawUpstream(scene);
/** Where a machine that does something else for a while makes no upstream silent. */
const timeouts = { connect: '10s', response: '10s', idle: '10s' };
const pauseMs = 2000;
const gateway = await startGateway(scene, {
  upstreams: {
    recognition: { targets: [upstream.url], timeouts },
    raw: { targets: [raw.url], timeouts },
    hasty: { targets: [raw.url], timeouts: { ...timeouts, idle: '300ms' } },
    limited: { targets: [raw.url], timeouts: { ...timeouts, idle: `${pauseMs}ms` } },
  },
  routes: [
    { path: '/v1/*', methods: ['GET', 'POST'] },
    { path: '/raw/*', methods: ['GET', 'POST'], upstream: 'raw', body: { any: { maxSize: '1MB' } } },
    { path: '/hasty/*', methods: ['GET'], upstream: 'hasty' },
    { path: '/limited/*', methods: ['GET'], upstream: 'limited' },
  ],
});
const get = (path: string, method = 'GET'): Buffer =>
  requestBytes(`${method} ${path}`, [['apiKey', demoKey]]);
const logged = (path: string): Promise<LogLine> =>
  until(() => gateway.logs().find((line) => line['path'] === path), { what: `the log line of ${path}` });
const megabytes = 1024 * 1024;

test('the head of an event stream arrives before its first event, and each event when it is sent', async (t) => {
  let stream: ServerResponse | undefined;
  upstream.handler = (_, res) => {
    res.writeHead(200, { 'Content-Type': 'text/event-stream' });
    res.flushHeaders();
    stream = res;
  };
  const client = await openRaw(t, gateway.port);
  client.write(get('/v1/events'));
  await client.receivedUntil((bytes) => bytes.includes('text/event-stream'));
  for (let i = 0; i < 5; i += 1) {
    stream?.write(`data: ${i}\n\n`);
    await client.receivedUntil((bytes) => bytes.includes(`data: ${i}\n\n`));
    assert.ok(!client.received().includes(`data: ${i + 1}`));
  }
  stream?.end();
  const [answer] = await client.responses(1);
  assert.equal(answer?.complete, true);
  assert.equal((await logged('/v1/events'))['cut'], undefined);
});

test('the bytes of a header are passed on as they are, also in a head that comes before its body', async (t) => {
  const name = Buffer.from('X-Name: \xdc and \xc3\x9c\r\n', 'latin1');
  const head = Buffer.concat([
    Buffer.from('HTTP/1.1 200 OK\r\nContent-Length: 2\r\nExpect: 100-continue\r\n'),
    name,
    Buffer.from('\r\n'),
  ]);
  raw.script = (socket) => void socket.write(head);
  for (const [method, body] of [
    ['GET', ''],
    ['POST', 'x'.repeat(100_000)],
  ] as const) {
    const client = await openRaw(t, gateway.port);
    client.write(requestBytes(`${method} /raw/name`, [['apiKey', demoKey]], body));
    const received = await client.receivedUntil((bytes) => bytes.includes('\r\n\r\n'));
    assert.ok(received.includes(name), received.toString('latin1'));
    for (const socket of raw.sockets) socket.write('ok');
    assert.equal((await client.responses(1))[0]?.text, 'ok');
  }
});

test('a large download waits for its slow reader: the upstream is held back and memory stays flat', async (t) => {
  const size = 100 * megabytes;
  let written = 0;
  upstream.handler = (_, res) => {
    res.writeHead(200, { 'Content-Length': size });
    const piece = Buffer.alloc(megabytes, 'x');
    const pump = (): void => {
      while (written < size) {
        written += piece.length;
        if (!res.write(piece)) return void res.once('drain', pump);
      }
      res.end();
    };
    pump();
  };
  const before = await residentBytes();
  const client = await openRaw(t, gateway.port);
  client.socket.removeAllListeners('data');
  let received = 0;
  client.socket.on('data', (chunk: Buffer) => (received += chunk.length));
  client.socket.pause();
  client.write(get('/v1/large'));
  let [last, still] = [-1, 0];
  await until(() => {
    still = written === last && written > 0 ? still + 1 : 0;
    last = written;
    return still > 40;
  });
  assert.ok(written < 40 * megabytes, `${written} bytes were taken from the upstream`);
  await assertGrowth(before, 40 * megabytes);
  client.socket.resume();
  await until(() => received > size);
  await assertGrowth(before, 80 * megabytes);
  const line = await logged('/v1/large');
  assert.equal(line['bytesOut'], size);
  assert.equal(line['cut'], undefined);
});

test('a client that leaves during a download ends the upstream connection, and the log says who', async (t) => {
  raw.script = (socket) => void socket.write(`HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\nab`);
  const client = await openRaw(t, gateway.port);
  client.write(get('/raw/left'));
  await client.receivedUntil((bytes) => bytes.includes('ab'));
  client.socket.destroy();
  await until(() => raw.sockets.size === 0);
  const line = await logged('/raw/left');
  assert.deepEqual(
    [line['status'], line['cut'], line['bytesOut'], line['level']],
    [200, 'client', 2, 'info'],
  );
});

test('a client that leaves when all of an answer waits for it is told apart from one that took it', async (t) => {
  upstream.handler = (_, res) => res.end(Buffer.alloc(12 * megabytes));
  const client = await openRaw(t, gateway.port);
  client.socket.once('data', () => client.socket.pause());
  client.write(get('/v1/unread'));
  await client.receivedUntil((bytes) => bytes.includes('\r\n\r\n'));
  client.socket.resetAndDestroy();
  assert.equal((await logged('/v1/unread'))['cut'], 'client');
});

for (const { name, wire, end } of [
  { name: 'with a length', wire: 'Content-Length: 1000\r\n\r\nab', end: 'end' },
  { name: 'in chunks', wire: 'Transfer-Encoding: chunked\r\n\r\n2\r\nab\r\n', end: 'end' },
  { name: 'without a length, by a reset', wire: '\r\nab', end: 'reset' },
  { name: 'by falling silent', wire: 'Transfer-Encoding: chunked\r\n\r\n2\r\nab\r\n', end: 'silence' },
  { name: 'by falling silent behind the head', wire: 'Content-Length: 1000\r\n\r\n', end: 'silence' },
]) {
  test(`a download that the upstream breaks off ${name} is broken for the client too, never ended`, async (t) => {
    const path = `/${end === 'silence' ? 'hasty' : 'raw'}/broken-${name.replaceAll(/\W/g, '-')}`;
    raw.script = (socket) => void socket.write(`HTTP/1.1 200 OK\r\n${wire}`);
    const body = wire.includes('ab') ? 'ab' : '';
    const client = await openRaw(t, gateway.port);
    client.write(get(path));
    await client.receivedUntil((bytes) => bytes.includes('\r\n\r\n') && bytes.includes(body));
    for (const socket of raw.sockets) {
      if (end === 'end') socket.end();
      if (end === 'reset') socket.resetAndDestroy();
    }
    const bytes = await client.receivedUntilClose();
    assert.ok(!bytes.includes('\r\n0\r\n'));
    assert.equal((await client.responses(1))[0]?.complete, false);
    const line = await logged(path);
    assert.deepEqual(
      [line['status'], line['cut'], line['bytesOut'], line['level']],
      [200, 'upstream', body.length, 'warn'],
    );
    await until(() => raw.sockets.size === 0);
  });
}

test('a client of HTTP/1.0, for whom the end of the connection is the end of the answer, sees a reset instead', async (t) => {
  raw.script = (socket) =>
    void socket.write('HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nab\r\n');
  const client = await openRaw(t, gateway.port);
  client.write(`GET /raw/old HTTP/1.0\r\nHost: x\r\napiKey: ${demoKey}\r\n\r\n`);
  await client.receivedUntil((bytes) => bytes.includes('\r\n\r\nab'));
  for (const socket of raw.sockets) socket.end();
  await client.receivedUntilClose();
  assert.equal(client.error?.code, 'ECONNRESET');
  assert.equal((await logged('/raw/old'))['cut'], 'upstream');
});

test('a client of HTTP/1.0 that ends its side during an answer is not told that this was all of it', async (t) => {
  raw.script = (socket) =>
    void socket.write('HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nab\r\n');
  const client = await openRaw(t, gateway.port);
  client.write(`GET /raw/half HTTP/1.0\r\nHost: x\r\napiKey: ${demoKey}\r\n\r\n`);
  await client.receivedUntil((bytes) => bytes.includes('\r\n\r\nab'));
  client.socket.end();
  await client.receivedUntilClose();
  assert.equal(client.error?.code, 'ECONNRESET');
  assert.equal((await logged('/raw/half'))['cut'], 'client');
  await until(() => raw.sockets.size === 0);
});

test('an encoded answer passes byte for byte', async (t) => {
  const packed = gzipSync('hello '.repeat(1000));
  upstream.handler = (_, res) => {
    res.writeHead(200, { 'Content-Encoding': 'gzip', ETag: '"a"', Vary: 'Accept-Encoding' });
    res.end(packed);
  };
  const client = await openRaw(t, gateway.port);
  client.write(get('/v1/packed'));
  const [answer] = await client.responses(1);
  assert.equal(answer?.headers['content-encoding'], 'gzip');
  assert.deepEqual(answer.body, packed);
});

for (const { status, method, body } of [
  { status: 200, method: 'HEAD', body: '' },
  { status: 204, method: 'GET', body: '' },
  { status: 304, method: 'GET', body: '' },
]) {
  test(`an answer without a body (${method} ${status}) keeps its headers and the connection`, async (t) => {
    upstream.handler = (request, res) => {
      res.writeHead(status, { ETag: '"a"', ...(request.method === 'HEAD' ? { 'Content-Length': 77 } : {}) });
      res.end();
    };
    const client = await openRaw(t, gateway.port, { methods: [method, 'GET'] });
    client.write(get('/v1/bare', method));
    const [answer] = await client.responses(1);
    assert.equal(answer?.status, status);
    assert.equal(answer.text, body);
    assert.equal(answer.headers['etag'], '"a"');
    assert.equal(answer.headers['content-length'], method === 'HEAD' ? '77' : undefined);
    assert.equal(answer.headers['transfer-encoding'], undefined);
    upstream.handler = (_, res) => res.end('next');
    client.write(get('/v1/next'));
    assert.equal((await client.responses(2))[1]?.text, 'next');
  });
}

test('trailers end at the gateway', async (t) => {
  raw.script = (socket) =>
    void socket.write(
      'HTTP/1.1 200 OK\r\nTrailer: X-Sum\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nab\r\n0\r\nX-Sum: 1\r\n\r\n',
    );
  const client = await openRaw(t, gateway.port);
  client.write(get('/raw/trailers'));
  const [answer] = await client.responses(1);
  assert.equal(answer?.text, 'ab');
  assert.doesNotMatch(client.received().toString(), /x-sum/i);
});

test('an upstream that pauses for less than its idle timeout is waited for', async (t) => {
  raw.script = (socket) => {
    socket.write('HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\n');
    let sent = 0;
    const next = setInterval(() => {
      socket.write('x');
      sent += 1;
      if (sent === 4) clearInterval(next);
    }, pauseMs / 3);
  };
  const client = await openRaw(t, gateway.port);
  client.write(get('/limited/pauses'));
  assert.equal((await client.responses(1))[0]?.text, 'xxxx');
});

test('a hundred clients that come and go leave no connection, no listener warning and one line each', async (t) => {
  upstream.handler = (_, res) => res.write('begun');
  const clients = await Promise.all(Array.from({ length: 100 }, () => openRaw(t, gateway.port)));
  const before = gateway.logs().filter(({ path }) => path === '/v1/crowd').length;
  for (const client of clients) client.write(get('/v1/crowd'));
  await Promise.all(clients.map((client) => client.receivedUntil((bytes) => bytes.includes('begun'))));
  for (const client of clients) client.socket.destroy();
  const crowd = (): LogLine[] => gateway.logs().filter(({ path }) => path === '/v1/crowd');
  await until(() => crowd().length - before >= 100);
  assert.equal(new Set(crowd().map(({ requestId }) => requestId)).size, 100);
  assert.equal(crowd().length, 100);
  await until(async () => (await gateway.inFlight()) === 0);
  assert.doesNotMatch(gateway.logText(), /Warning|"level":"(error|fatal)"/);
});

async function assertGrowth(before: number, most: number): Promise<void> {
  const growth = (await residentBytes()) - before;
  assert.ok(growth < most, `${growth} bytes more`);
}

async function residentBytes(): Promise<number> {
  const metrics = await gateway.metrics();
  return Number(/^process_resident_memory_bytes (\S+)$/m.exec(metrics)?.[1]);
}
