import assert from 'node:assert/strict';
import { test } from 'node:test';
import { freePort } from './free-port.ts';
import { parseResponses } from './parse-responses.ts';
import { exchange, requestBytes } from './raw-socket.ts';
import { startRecordingUpstream } from './recording-upstream.ts';
import { startRedisServer } from './redis-server.ts';

const parsed = (text: string, options = {}): object[] =>
  parseResponses(Buffer.from(text, 'latin1'), options).map(({ status, text: body, complete }) => ({
    status,
    body,
    complete,
  }));

const cases: readonly { name: string; wire: string; options?: object; expected: object[] }[] = [
  {
    name: 'two with lengths',
    wire: 'HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhiHTTP/1.1 404 No\r\nContent-Length: 0\r\n\r\n',
    expected: [
      { status: 200, body: 'hi', complete: true },
      { status: 404, body: '', complete: true },
    ],
  },
  {
    name: 'chunked, with a trailer and a successor',
    wire: 'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3;x=y\r\nabc\r\n0\r\nT: 1\r\n\r\nHTTP/1.1 204 \r\n\r\n',
    expected: [
      { status: 200, body: 'abc', complete: true },
      { status: 204, body: '', complete: true },
    ],
  },
  {
    name: 'chunked, cut short',
    wire: 'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nab',
    expected: [{ status: 200, body: 'ab', complete: false }],
  },
  {
    name: 'a length, cut short',
    wire: 'HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nab',
    expected: [{ status: 200, body: 'ab', complete: false }],
  },
  {
    name: 'an interim answer and one to HEAD',
    wire: 'HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\nx',
    options: { methods: ['HEAD', 'GET'] },
    expected: [
      { status: 100, body: '', complete: true },
      { status: 200, body: '', complete: true },
      { status: 200, body: 'x', complete: true },
    ],
  },
  {
    name: 'no length while the connection is open',
    wire: 'HTTP/1.1 200 OK\r\n\r\nab',
    options: { closed: false },
    expected: [{ status: 200, body: 'ab', complete: false }],
  },
];

for (const { name, wire, options, expected } of cases) {
  test(`responses are parsed as they stood on the wire: ${name}`, () => {
    assert.deepEqual(parsed(wire, options), expected);
  });
}

test('the recording upstream keeps every byte of a request and echoes it', async (t) => {
  const upstream = await startRecordingUpstream(t);
  const body = Buffer.from([0, 255, 10]);
  const answer = await exchange(
    t,
    upstream.port,
    requestBytes('POST /a//../%2f?q', [['X-Odd', 'v\xff']], body),
  );
  assert.equal(answer.status, 200);
  assert.equal(upstream.requests.length, 1);
  const [request] = upstream.requests;
  assert.equal(request?.target, '/a//../%2f?q');
  assert.deepEqual(request.rawHeaders.slice(0, 4), ['Host', 'gateway.test', 'X-Odd', 'v\xff']);
  assert.deepEqual(request.body, body);
  assert.equal(request.complete, true);
});

test('a Redis that cannot have its port says so, and there is nothing left to stop', async (t) => {
  const { port } = await startRedisServer(t);
  const undone: (() => void | Promise<void>)[] = [];
  const scene = { after: (undo: () => void | Promise<void>) => void undone.push(undo) };
  const commandLine = (): string[] => ['--port', String(port), '--bind', '127.0.0.1', '--save', ''];
  await assert.rejects(startRedisServer(scene, { commandLine }), /ended with 1[^]*Address already in use/);
  for (const undo of undone) await undo();
});

test('a port is given once, and is none that a connection may come to have', async () => {
  const ports = await Promise.all(Array.from({ length: 50 }, () => freePort()));
  assert.equal(new Set(ports).size, ports.length);
  assert.ok(ports.every((port) => port >= 10_000 && port < 20_000));
});
