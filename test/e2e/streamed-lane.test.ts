import assert from 'node:assert/strict';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { connect, createServer, type Socket } from 'node:net';
import { after, test, type TestContext } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import type { RefusalCode } from '../../src/refusals.ts';
import { assertRefused } from '../helpers/assert-refused.ts';
import { freePort } from '../helpers/free-port.ts';
import { listen } from '../helpers/listen.ts';
import { until } from '../helpers/poll.ts';
import { openRaw, requestBytes, type RawSocket } from '../helpers/raw-socket.ts';
import { startRawUpstream } from '../helpers/raw-upstream.ts';
import { startRecordingUpstream } from '../helpers/recording-upstream.ts';
import { wav } from '../helpers/sample-files.ts';
import { answerTo, sendUpload, uploadBytes, type Upload } from '../helpers/send-upload.ts';
import { demoKey, startGateway } from '../helpers/start-gateway.ts';

const scene = { after };
const recording = await startRecordingUpstream(scene);
const raw = await startRawUpstream(scene);
/** Asked once in either lane, before anything else is. */
const lonely = await startRawUpstream(
  scene,
  (socket) => void socket.write('HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok'),
);
const curt = await listen(
  scene,
  createServer(answersAtOnce('Content-Length: 3\r\nConnection: close\r\n\r\nbig')),
);
const vague = await listen(scene, createServer(answersAtOnce('Connection: close\r\n\r\npart')));
/** Nobody else is given its port while this runs. */
const gone = `http://127.0.0.1:${await freePort()}`;
/** For those that answer, also on a machine that does something else for a while. */
const patient = { connect: '10s', response: '10s', idle: '10s' };
/** For those that are to be given up. */
const hasty = { connect: '10s', response: '400ms', idle: '400ms' };
/** Where some time has to go by, and may be longer than it was meant to. */
const limitMs = 2000;
const limited = { connect: '10s', response: `${limitMs}ms`, idle: `${limitMs}ms` };
const methods = ['GET', 'POST', 'DELETE', 'OPTIONS'];
/** Of a key with one request at a time. */
const aloneKey = 'k-alone';
const body = { any: { maxSize: '100MB' } };
const gateway = await startGateway(
  scene,
  {
    plans: { free: {}, alone: { concurrency: 1 } },
    keys: [
      { id: 'demo', plan: 'free', secret: demoKey, owner: 'acme' },
      { id: 'alone', plan: 'alone', secret: aloneKey },
    ],
    upstreams: {
      raw: { targets: [raw.url], timeouts: patient },
      lonely: { targets: [lonely.url], timeouts: patient },
      hasty: { targets: [raw.url], timeouts: hasty },
      limited: { targets: [raw.url], timeouts: limited },
      responding: { targets: [raw.url], timeouts: { ...limited, idle: '10s' } },
      curt: { targets: [`http://127.0.0.1:${curt}`] },
      vague: { targets: [`http://127.0.0.1:${vague}`] },
      gone: { targets: [gone] },
      either: { targets: [gone, recording.url] },
      single: { targets: [recording.url], connections: 1, timeouts: patient },
    },
    routes: [
      { path: '/v1/in/*', methods, body },
      { path: '/v1/raw', methods, body, upstream: 'raw' },
      { path: '/v1/lonely', methods, body, upstream: 'lonely' },
      { path: '/v1/hasty', methods, body, upstream: 'hasty' },
      { path: '/v1/limited', methods, body, upstream: 'limited' },
      { path: '/v1/responding', methods, body, upstream: 'responding' },
      { path: '/v1/curt', methods, body, upstream: 'curt' },
      { path: '/v1/vague', methods, body, upstream: 'vague' },
      { path: '/v1/gone', methods, body, upstream: 'gone' },
      { path: '/v1/either', methods, body, upstream: 'either' },
      { path: '/v1/single', methods, body, upstream: 'single' },
    ],
  },
  { upstream: recording.url },
);

/** More than what is buffered, so it streams. */
const large = Buffer.alloc(100_000, 'x');
const contentType = 'application/octet-stream';
const upload: Upload = { path: '/v1/in/x', body: large, contentType };

test('either lane keeps its connection for what comes next', async (t) => {
  for (const bytes of [large, Buffer.from('small')]) {
    const answer = await answerTo(t, gateway.port, { ...upload, path: '/v1/lonely', body: bytes });
    assert.equal(answer.status, 200);
  }
  assert.equal(lonely.sockets.size, 2);
});

for (const method of ['DELETE', 'OPTIONS', 'POST', 'GET']) {
  for (const framing of ['chunked', 'declared'] as const) {
    test(`a ${framing} ${method} is one request, whatever its body says`, async (t) => {
      const before = recording.requests.length;
      const hidden = Buffer.from('GET /admin HTTP/1.1\r\nHost: a\r\n\r\n'.repeat(4000));
      const answer = await answerTo(t, gateway.port, { ...upload, method, framing, body: hidden });
      assert.equal(answer.status, 200);
      const arrived = recording.requests.slice(before);
      assert.deepEqual(
        arrived.map(({ target, complete }) => [target, complete]),
        [['/v1/in/x', true]],
      );
      assert.ok(arrived[0]?.body.equals(hidden));
      assert.deepEqual(recording.malformed, []);
    });
  }
}

test('Expect does not switch off what is done to the headers', async (t) => {
  const headers = [
    ['Expect', '100-continue'],
    ['X-Gatehouse-Key-Id', 'admin'],
    ['X-Gatehouse-Owner', 'somebody else'],
    ['Connection', 'x-forwarded-for, x-gatehouse-owner'],
    ['X-Twice', '1'],
    ['X-Twice', '2'],
    ['__proto__', 'x'],
  ] as const;
  const answer = await answerTo(t, gateway.port, { ...upload, headers });
  assert.equal(answer.status, 200);
  const { headers: arrived } = recording.requests.at(-1)!;
  assert.equal(arrived['x-gatehouse-key-id'], 'demo');
  assert.equal(arrived['x-gatehouse-owner'], 'acme');
  assert.equal(arrived['x-forwarded-for'], '127.0.0.1');
  assert.equal(arrived['x-twice'], '1, 2');
  assert.equal(arrived['expect'], undefined);
  assert.equal(arrived['apikey'], undefined);
});

test('the path that was matched is the path that is sent', async (t) => {
  for (const target of ['/v1/in/http:/x', '/v1/in/x?a//b?c', '/v1/in/x?u=http:/y//z', '/v1/in/%C3%A4']) {
    assert.equal((await answerTo(t, gateway.port, { ...upload, path: target })).status, 200);
    assert.equal(recording.requests.at(-1)?.target, target);
  }
});

/** Or a connection that is kept after a test before would be taken for that of the next one. */
async function closeConnections(): Promise<void> {
  for (const socket of raw.sockets) socket.destroy();
  await until(() => raw.sockets.size === 0);
}

/** The connection on which the upstream gets what is sent now. It answers nothing by itself. */
async function takeNext(send: () => void): Promise<Socket> {
  raw.script = () => undefined;
  await closeConnections();
  send();
  return await until(() => [...raw.sockets].find(({ bytesRead }) => bytesRead > 0));
}

/** Sends the head, is invited to send the body, and comes back when the gateway has answered another since. */
async function openInvited(t: TestContext, path: string): Promise<RawSocket> {
  const client = await openRaw(t, gateway.port);
  client.write(uploadBytes({ ...upload, path, headers: [['Expect', '100-continue']] }).head);
  await client.receivedUntil((bytes) => bytes.includes('100 Continue'));
  assert.equal((await answerTo(t, gateway.port, upload)).status, 200);
  return client;
}

const farewell = 'HTTP/1.1 408 Request Timeout\r\nContent-Length: 0\r\nConnection: close\r\n\r\n';
for (const [end, word] of Object.entries({ 'a farewell': farewell, 'its end alone': '' })) {
  test(`an upstream that ends an idle connection with ${end} ends no request of which it has nothing`, async (t) => {
    raw.script = (socket) => void socket.write('HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok');
    const answer = await answerTo(t, gateway.port, { ...upload, path: '/v1/raw' });
    assert.equal(answer.status, 200);
    const client = await openInvited(t, '/v1/raw');
    const { length } = raw.received;
    for (const socket of raw.sockets) socket.end(word);
    await until(() => raw.sockets.size === 0);
    client.write(large);
    const [, late] = await client.responses(1);
    assert.equal(late?.status, 200);
    assert.equal(raw.received.length, length + 1);
  });
}

test('a client that has sent nothing of its body keeps no connection from others', async (t) => {
  const idle = await openInvited(t, '/v1/single');
  for (let turn = 0; turn < 2; turn += 1) {
    assert.equal((await answerTo(t, gateway.port, { ...upload, path: '/v1/single' })).status, 200);
  }
  idle.write(large);
  assert.equal((await idle.responses(1))[1]?.status, 200);
});

for (const status of [204, 304]) {
  for (const framing of ['Content-Length: 5', 'Transfer-Encoding: chunked']) {
    test(`what may yet follow a ${status} with ${framing} is no answer to the next upload`, async (t) => {
      const connections: number[] = [];
      raw.script = (socket, _bytes, index) => {
        connections.push(index);
        socket.write(`HTTP/1.1 ${status} No\r\n${framing}\r\n\r\n`);
      };
      const path = '/v1/raw';
      for (let turn = 0; turn < 2; turn += 1) {
        assert.equal((await answerTo(t, gateway.port, { ...upload, path })).status, status);
      }
      assert.notEqual(connections[0], connections[1]);
    });
  }
}

const chunkedHead = 'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n';
const nonsense: readonly [name: string, answer: string, refusal?: RefusalCode][] = [
  ['status 999', 'HTTP/1.1 999 x\r\nContent-Length: 2\r\n\r\nno', 'upstream_broken'],
  [
    'a 101 nobody asked for',
    'HTTP/1.1 101 x\r\nConnection: Upgrade\r\nUpgrade: x\r\n\r\n',
    'upstream_broken',
  ],
  ['chunks in HTTP/1.0', chunkedHead.replace('1.1', '1.0') + '0\r\n\r\n', 'upstream_broken'],
  ['no HTTP', 'hello\r\n\r\n', 'upstream_broken'],
  ['headers of 31 KB', `HTTP/1.1 200 OK\r\nX-Big: ${'v'.repeat(31_000)}\r\nContent-Length: 0\r\n\r\n`],
  [
    'headers of 40 KB',
    `HTTP/1.1 200 OK\r\nX-Big: ${'v'.repeat(40_000)}\r\nContent-Length: 0\r\n\r\n`,
    'upstream_broken',
  ],
  ['a chunk of no size', `${chunkedHead}3\r\nabc\r\nzz\r\nqq`, 'upstream_broken'],
  ['a chunk near 2^68', `${chunkedHead}fffffffffffffffff\r\nabc`, 'upstream_broken'],
  ['nothing', '', 'upstream_timeout'],
  ['only 100s', 'HTTP/1.1 100 Continue\r\n\r\n', 'upstream_timeout'],
  [
    'a hop-by-hop header',
    'HTTP/1.1 200 OK\r\nConnection: x-a\r\nX-A: 1\r\nX-Gatehouse-Refusal: x\r\nContent-Length: 0\r\n\r\n',
  ],
];
for (const [name, answer, refusal] of nonsense) {
  test(`an upstream that answers ${name} is answered for`, async (t) => {
    await closeConnections();
    raw.script = (socket) => void socket.write(answer, 'latin1');
    const path = refusal === 'upstream_timeout' ? '/v1/hasty' : '/v1/raw';
    const response = await answerTo(t, gateway.port, { ...upload, path });
    if (refusal !== undefined) assertRefused(response, refusal);
    else assert.deepEqual([response.status, response.headers['x-gatehouse-refusal']], [200, undefined]);
    assert.equal(response.headers['x-a'], undefined);
    const line = await gateway.lineOf(response);
    assert.equal(line['cut'], undefined);
    assert.ok(!Object.hasOwn(line['cause'] ?? {}, 'stack'), 'no fault of ours');
    assert.equal(line['bytesOut'], 0);
    if (refusal !== undefined) await until(() => raw.sockets.size === 0);
  });
}

const noBody = 'HTTP/1.1 204 No Content\r\n';
const notModified = 'HTTP/1.1 304 Not Modified\r\n';
const oddEnds: readonly { name: string; answer: string; status: number; text: string }[] = [
  { name: '204 with a body', answer: `${noBody}Content-Length: 3\r\n\r\nabc`, status: 204, text: '' },
  {
    name: '204 with chunks',
    answer: `${noBody}Transfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n`,
    status: 204,
    text: '',
  },
  { name: '304 with a body', answer: `${notModified}Content-Length: 3\r\n\r\nabc`, status: 304, text: '' },
  {
    name: 'more than its length',
    answer: 'HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nabcdefgh',
    status: 200,
    text: 'abc',
  },
  {
    name: 'a second answer behind the answer',
    answer: 'HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nabc'.repeat(2),
    status: 200,
    text: 'abc',
  },
];
for (const { name, answer, status, text } of oddEnds) {
  for (const [lane, sent] of Object.entries({ buffered: Buffer.from('x'), streamed: large })) {
    test(`an upstream that answers ${name} gives a whole ${status} in the ${lane} lane`, async (t) => {
      await closeConnections();
      raw.script = (socket) => void socket.write(answer);
      const response = await answerTo(t, gateway.port, { ...upload, body: sent, path: '/v1/raw' });
      assert.equal(response.status, status);
      assert.equal(response.text, text);
      const line = await gateway.lineOf(response);
      assert.equal(line['msg'], 'answered');
      await until(() => raw.sockets.size === 0);
    });
  }
}

const broken: readonly { name: string; begin: string; end: 'end' | 'reset' | 'silence' }[] = [
  { name: 'short of its length', begin: 'HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\npart', end: 'end' },
  {
    name: 'without its last chunk',
    begin: 'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4\r\npart\r\n',
    end: 'end',
  },
  {
    name: 'with a reset where the end is the end of the connection',
    begin: 'HTTP/1.1 200 OK\r\n\r\npart',
    end: 'reset',
  },
  { name: 'in silence', begin: 'HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\npart', end: 'silence' },
];
for (const { name, begin, end } of broken) {
  test(`an answer that breaks off ${name} is never ended as if it were whole`, async (t) => {
    await closeConnections();
    raw.script = (socket) => void socket.write(begin);
    const path = end === 'silence' ? '/v1/hasty' : '/v1/raw';
    const client = await sendUpload(t, gateway.port, { ...upload, path });
    await client.receivedUntil((bytes) => bytes.includes('part'));
    const [socket] = raw.sockets;
    if (end === 'reset') socket?.resetAndDestroy();
    if (end === 'end') socket?.end();
    await client.receivedUntilClose();
    const text = client.received().toString();
    const [answer] = await client.responses(1);
    assert.ok(!text.endsWith('0\r\n\r\n'));
    assert.ok(answer?.complete !== true || client.error?.code === 'ECONNRESET');
    await until(() => raw.sockets.size === 0);
  });
}

test('what there is of a broken answer reaches a client that still sends its body', async (t) => {
  await closeConnections();
  raw.script = () => {};
  const client = await openRaw(t, gateway.port);
  const { head } = uploadBytes({ ...upload, path: '/v1/raw', body: Buffer.alloc(10_000_000) });
  client.write(Buffer.concat([head, large]));
  await until(() => raw.sockets.size === 1);
  client.socket.pause();
  for (const socket of raw.sockets) {
    socket.write(`HTTP/1.1 200 OK\r\nContent-Length: 2000000\r\n\r\n${'x'.repeat(1_000_000)}`);
    socket.end();
  }
  await until(() => raw.sockets.size === 0);
  client.write(large);
  await until(async () => (await gateway.inFlight()) === 0);
  client.socket.resume();
  await client.receivedUntilClose();
  const [answer] = await client.responses(1);
  assert.deepEqual([answer?.body.length, answer?.complete], [1_000_000, false]);
  assert.equal(client.error, undefined);
});

test('an answer that comes before the end of the body reaches the client', async (t) => {
  recording.onArrival = (_request, res) =>
    void res.writeHead(409, { 'content-length': 2, connection: 'close' }).end('no');
  t.after(() => (recording.onArrival = undefined));
  const client = await openHalf(t);
  const { head } = uploadBytes({ ...upload, body: Buffer.alloc(1_000_000) });
  client.write(Buffer.concat([head, large]));
  await client.receivedUntil((bytes) => bytes.includes('409') && bytes.toString().endsWith('no'));
  client.write(Buffer.alloc(900_000));
  const [answer] = await client.responses(1);
  assert.equal(answer?.status, 409);
  assert.equal(answer.headers['connection'], 'close');
  await client.receivedUntilClose();
  assert.equal(client.error, undefined);
});

test('a client that sends all of a large body before it reads gets the answer that came before the end of it', async (t) => {
  for (let turn = 0; turn < 8; turn += 1) {
    const socket = connect({ port: gateway.port, allowHalfOpen: true });
    t.after(() => socket.destroy());
    const chunks: Buffer[] = [];
    socket.on('data', (chunk: Buffer) => void chunks.push(chunk));
    const bytes = Buffer.alloc(20_000_000);
    socket.write(uploadBytes({ ...upload, path: '/v1/curt', body: bytes }).head);
    // Nobody takes it any more after its beginning.
    await new Promise<void>((resolve, reject) => {
      socket.write(bytes, (error) => (error ? reject(error) : resolve()));
    });
    await until(() => String(Buffer.concat(chunks)).endsWith('big'));
    socket.destroy();
  }
});

test('a client that still sends though it has its answer keeps no connection to the upstream from others', async (t) => {
  recording.onArrival = (_request, res) => void res.writeHead(409).end('no');
  t.after(() => (recording.onArrival = undefined));
  const client = await openHalf(t);
  const { head } = uploadBytes({ ...upload, path: '/v1/single', body: Buffer.alloc(100_000_000) });
  client.write(Buffer.concat([head, large]));
  await client.receivedUntil((bytes) => bytes.includes('409'));
  recording.onArrival = undefined;
  const other = await sendUpload(t, gateway.port, { ...upload, path: '/v1/single' });
  await until(() => {
    client.write('x');
    return other.received().includes('200 OK');
  });
  await assertStillRead(client);
});

test('the end of an answer of unknown length does not wait for the end of its request', async (t) => {
  recording.onArrival = (_request, res) =>
    void res.writeHead(409, { 'transfer-encoding': 'chunked' }).end('no');
  t.after(() => (recording.onArrival = undefined));
  const client = await openHalf(t);
  client.write(uploadBytes({ ...upload, body: Buffer.alloc(1_000_000) }).head);
  client.write(large);
  await client.receivedUntil((bytes) => bytes.toString().endsWith('no\r\n0\r\n\r\n'));
  await assertStillRead(client);
});

test('a client that has its answer before it has sent all has its place back, and is not told of as one that left', async (t) => {
  recording.onArrival = (_request, res) => void res.writeHead(409, { 'content-length': 2 }).end('no');
  t.after(() => (recording.onArrival = undefined));
  const { head } = uploadBytes({ ...upload, body: Buffer.alloc(1_000_000) });
  const alone = Buffer.from(head.toString('latin1').replace(demoKey, aloneKey), 'latin1');
  const clients = [await openHalf(t), await openHalf(t)];
  for (const client of clients) {
    client.write(Buffer.concat([alone, large]));
    assert.equal((await client.responses(1))[0]?.status, 409);
  }
  for (const client of clients) {
    client.socket.destroy();
    const [answer] = await client.responses(1);
    const line = await gateway.lineOf(answer);
    assert.deepEqual([line['msg'], line['cut']], ['answered', undefined]);
  }
});

for (const [method, status] of [
  ['POST', 204],
  ['POST', 304],
  ['HEAD', 200],
] as const) {
  test(`an answer without a body (${method} ${status}) that comes before the end of the request does not wait for it`, async (t) => {
    recording.onArrival = (_request, res) => void res.writeHead(status, { 'x-name': 'Ü' }).end();
    t.after(() => (recording.onArrival = undefined));
    const client = await openHalf(t);
    client.write(uploadBytes({ ...upload, method, body: Buffer.alloc(1_000_000) }).head);
    client.write(large);
    await client.receivedUntil((bytes) => bytes.includes(Buffer.from('x-name: \xdc\r\n', 'latin1')));
    await assertStillRead(client);
  });
}

test('an answer without a body that comes early leaves behind the answers that are ahead of it', async (t) => {
  const ahead: ServerResponse[] = [];
  let taken = false;
  recording.onArrival = ({ method }, res, req) => {
    req.socket.once('close', () => (taken ||= method === 'HEAD'));
    if (method === 'HEAD') res.writeHead(200, { 'x-name': 'Ü' }).end();
    else ahead.push(res);
  };
  t.after(() => (recording.onArrival = undefined));
  const client = await openHalf(t);
  client.write(requestBytes('GET /v1/in/ahead', [['apiKey', demoKey]]));
  client.write(uploadBytes({ ...upload, method: 'HEAD', body: Buffer.alloc(1_000_000) }).head);
  client.write(large);
  await until(() => ahead.length === 1 && taken);
  ahead[0]?.end('first');
  await client.receivedUntil((bytes) => bytes.includes('first'));
  await client.receivedUntil((bytes) => bytes.includes(Buffer.from('x-name: \xdc\r\n', 'latin1')));
  await assertStillRead(client);
});

/** A client that goes on sending when it has heard that nothing more comes. */
async function openHalf(t: TestContext): Promise<RawSocket> {
  const client = await openRaw(t, gateway.port);
  client.socket.allowHalfOpen = true;
  return client;
}

/** By the time that the gateway has answered another, it has reset a connection that it does not read. */
async function assertStillRead(client: RawSocket): Promise<void> {
  for (let turn = 0; turn < 3; turn += 1) {
    client.write(large);
    await gateway.metrics();
  }
  assert.deepEqual([client.error, client.socket.destroyed], [undefined, false]);
}

test('an upstream that takes a body is not idle, though its answer has begun long before', async (t) => {
  const client = await openRaw(t, gateway.port);
  let left = 1_000_000 - large.length;
  const socket = await takeNext(() => {
    client.write(uploadBytes({ ...upload, path: '/v1/limited', body: Buffer.alloc(1_000_000) }).head);
    client.write(large);
  });
  raw.script = () => void socket.write('ok');
  socket.write('HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n');
  await client.receivedUntil((bytes) => bytes.includes('200 OK'));
  const enough = performance.now() + 1.5 * limitMs;
  await until(() => {
    client.write('x');
    left -= 1;
    return performance.now() > enough;
  });
  client.write(Buffer.alloc(left));
  const [answer] = await client.responses(1);
  assert.equal(answer?.text, 'ok');
});

test('an upstream whose answer begins before it has taken a body is idle when it brings nothing more after that', async (t) => {
  const client = await openRaw(t, gateway.port);
  const socket = await takeNext(() => {
    client.write(uploadBytes({ ...upload, path: '/v1/hasty' }).head);
    client.write(large.subarray(0, 80_000));
  });
  socket.write('HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n');
  await client.receivedUntil((bytes) => bytes.includes('200 OK'));
  client.write(large.subarray(80_000));
  await client.receivedUntilClose();
  const [answer] = await client.responses(1);
  const line = await gateway.lineOf(answer);
  assert.equal(line['cut'], 'upstream');
  assert.match(JSON.stringify(line['cause']), /nothing more of the answer within 400 ms/);
});

test('the time for the head of an answer is not that for all of it, also of one that begins before all of the body has come', async (t) => {
  const [client, other] = [await openRaw(t, gateway.port), await openRaw(t, gateway.port)];
  const { head, body: bytes } = uploadBytes({ ...upload, path: '/v1/responding' });
  const socket = await takeNext(() => client.write(Buffer.concat([head, bytes])));
  await until(() => socket.bytesRead > large.length);
  other.write(Buffer.concat([head, bytes.subarray(0, 80_000)]));
  const early = await until(() => [...raw.sockets].find((one) => one !== socket && one.bytesRead > 0));
  for (const one of [socket, early]) one.write('HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\n');
  await other.receivedUntil((received) => received.includes('200 OK'));
  other.write(bytes.subarray(80_000));
  await until(() => early.bytesRead > large.length);
  for (let piece = 1; piece <= 4; piece += 1) {
    const from = performance.now();
    await until(() => performance.now() - from >= limitMs / 3);
    for (const one of [socket, early]) one.write('x');
  }
  for (const one of [client, other]) assert.equal((await one.responses(1))[0]?.text, 'xxxx');
});

test('an answer that comes before the end of the body, from an upstream that then reads no more, is not lost', async (t) => {
  for (let turn = 0; turn < 30; turn += 1) {
    const answer = await answerTo(t, gateway.port, { ...upload, path: '/v1/curt' });
    assert.equal(answer.status, 413);
  }
});

test('the reset of a connection is not the end of an answer that came before the end of the body', async (t) => {
  for (let turn = 0; turn < 30; turn += 1) {
    const client = await sendUpload(t, gateway.port, { ...upload, path: '/v1/vague' });
    const text = (await client.receivedUntilClose()).toString();
    assert.ok(!text.endsWith('0\r\n\r\n'), text);
  }
});

test('the time of the upstream is not that of a client who sends slowly', async (t) => {
  const client = await openRaw(t, gateway.port);
  const { head } = uploadBytes({ ...upload, path: '/v1/limited' });
  await takeNext(() => client.write(Buffer.concat([head, large.subarray(0, 70_000)])));
  raw.script = (socket) => void socket.write('HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok');
  const from = performance.now();
  await until(() => performance.now() - from >= 1.5 * limitMs);
  const heldMs = performance.now() - from;
  client.write(large.subarray(70_000));
  const [answer] = await client.responses(1);
  assert.equal(answer?.status, 200);
  const line = await gateway.lineOf(answer);
  assert.ok(Number(line['upstreamMs']) <= Number(line['ms']) - heldMs, JSON.stringify(line));
});

test('an upstream that does not read slows the client down, and is given up', async (t) => {
  const client = await openRaw(t, gateway.port);
  const size = 60_000_000;
  const { head } = uploadBytes({ ...upload, path: '/v1/hasty', body: Buffer.alloc(size) });
  const socket = await takeNext(() => client.write(Buffer.concat([head, large])));
  socket.pause();
  client.write(Buffer.alloc(size - large.length));
  const [answer] = await client.responses(1);
  assert.equal(answer?.status, 504);
  // What is missing here lies in the buffers of the kernel, which are several megabytes on each side.
  assert.ok(client.socket.writableLength > size / 3 || client.closed);
});

/** More than the buffers between gateway and upstream hold. */
const huge = Buffer.concat([Buffer.alloc(6_000_000), Buffer.from('!')]);

test('an upstream that takes nothing because its client reads nothing of the answer is not given up', async (t) => {
  const client = await openRaw(t, gateway.port);
  client.socket.pause();
  const socket = await takeNext(() => {
    client.write(uploadBytes({ ...upload, path: '/v1/limited', body: huge }).head);
    client.write(huge);
  });
  socket.pause().removeAllListeners('data');
  socket.on('data', (chunk: Buffer) => {
    if (chunk.at(-1) === huge.at(-1)) socket.write('.');
  });
  const size = 20_000_000;
  socket.write(`HTTP/1.1 200 OK\r\nContent-Length: ${size + 1}\r\n\r\n`);
  // It reads on when it has said what it has to say.
  const said = new Promise<void>((resolve) => socket.write(Buffer.alloc(size), () => resolve()));
  void said.then(() => socket.resume());
  await pause(1.5 * limitMs);
  assert.ok(socket.writableLength > 0 || socket.destroyed, 'the answer is too short for this test');
  client.socket.resume();
  await until(() => client.closed || client.socket.bytesRead > size);
  const [answer] = await client.responses(1);
  assert.equal(answer?.body.length, size + 1);
});

test('who sent all of it is not too slow, however long the upstream or the line for it takes', async (t) => {
  const upstream = await startRecordingUpstream(t);
  let first: IncomingMessage | undefined;
  upstream.onArrival = (_request, res, req) => {
    first ??= req.pause();
    req.on('end', () => res.end('taken'));
  };
  const file = { types: ['audio/*'], timeout: '2s', forward: 'stream' };
  const hurried = await startGateway(t, {
    limits: { headerTimeout: '2s', requestTimeout: '2s' },
    upstreams: { narrow: { targets: [upstream.url], connections: 1 } },
    versions: { v1: { upstream: 'narrow' } },
    routes: [
      { path: '/v1/any', methods, body },
      { path: '/v1/file', methods, body: { file } },
    ],
  });
  const uploads: Upload[] = [
    // More than the buffers between gateway and upstream hold, and less than those on all of the way.
    { path: '/v1/any', body: Buffer.alloc(6_000_000), contentType },
    { path: '/v1/any', body: large, contentType },
    { path: '/v1/file', body: wav(200_000), contentType: 'audio/wav' },
  ];
  const clients: RawSocket[] = [];
  for (const one of uploads) {
    const client = await sendUpload(t, hurried.port, one);
    await until(() => client.socket.writableLength === 0 && upstream.requests.length === 1);
    clients.push(client);
  }
  // By the time that two are cut one after the other, the gateway has looked for all who are late.
  for (let cut = 0; cut < 2; cut += 1) {
    const late = await openRaw(t, hurried.port);
    late.write('GET /v1/any HTTP/1.1\r\n');
    assert.equal((await late.responses(1))[0]?.status, 408);
  }
  first?.resume();
  for (const client of clients) assert.equal((await client.responses(1))[0]?.status, 200);
  assert.deepEqual(
    upstream.requests.map((request) => request.body.length),
    uploads.map((one) => one.body.length),
  );
});

test('a target that cannot be reached costs nothing of the body, so another may have it', async (t) => {
  const answer = await answerTo(t, gateway.port, { ...upload, path: '/v1/gone' });
  assertRefused(answer, 'upstream_unreachable');
  for (const framing of ['declared', 'chunked'] as const) {
    for (let turn = 0; turn < 3; turn += 1) {
      const other = await answerTo(t, gateway.port, { ...upload, path: '/v1/either', framing });
      assert.equal(other.status, 200);
      assert.ok(recording.requests.at(-1)?.body.equals(large));
    }
  }
});

test('a connection for which nothing has come by then is not kept', async () => {
  await until(() => lonely.sockets.size === 0);
});

test('after all of it nothing is in flight and nothing was complained of', async () => {
  await until(async () => (await gateway.inFlight()) === 0);
  assert.equal(gateway.child.exitCode, null);
  assert.doesNotMatch(gateway.logText(), /Warning|a fault of the gateway/);
});

/** Closes with most of the body unread, which the kernel tells with a reset. */
function answersAtOnce(rest: string): (socket: Socket) => void {
  return (socket) => {
    socket.on('error', () => undefined);
    socket.once('data', () => {
      socket.pause();
      socket.write(`HTTP/1.1 413 Too Large\r\n${rest}`, () => socket.destroy());
    });
  };
}

test('the name of a file passes byte for byte to the upstream too', async (t) => {
  for (const framing of ['chunked', 'declared'] as const) {
    const name = Buffer.from('attachment; filename="日ä.txt"').toString('latin1');
    const headers = [['Content-Disposition', name]] as const;
    assert.equal((await answerTo(t, gateway.port, { ...upload, framing, headers })).status, 200);
    assert.equal(recording.requests.at(-1)?.headers['content-disposition'], name, framing);
  }
});
