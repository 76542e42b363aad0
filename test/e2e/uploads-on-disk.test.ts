import assert from 'node:assert/strict';
import { createServer, type Socket } from 'node:net';
import { after, test, type TestContext } from 'node:test';
import { listen } from '../helpers/listen.ts';
import { until } from '../helpers/poll.ts';
import { keysOf, secretOf } from '../helpers/quota-scene.ts';
import { openRaw, requestBytes } from '../helpers/raw-socket.ts';
import { startRecordingUpstream } from '../helpers/recording-upstream.ts';
import { wav } from '../helpers/sample-files.ts';
import { startGateway } from '../helpers/start-gateway.ts';

/** Large enough to wait on disk, and to be under way for a while. */
const file = wav(4_000_000);
/** What goes wrong in one turn of three is to be seen. */
const turns = 10;
const closing = 'HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 2\r\n\r\nok';
const switched = [
  'HTTP/1.1 101 Switching Protocols',
  'Connection: upgrade',
  'Upgrade: websocket',
  'Sec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=',
  '\r\n',
].join('\r\n');

const scene = { after };
const failing = await startRecordingUpstream(scene, (_request, res) =>
  res.writeHead(500, { 'content-length': 2 }).end('no'),
);
const hasty = await listen(scene, createServer(answerAtOnce));
const deaf = await listen(
  scene,
  createServer((socket) => {
    answerAtOnce(socket);
    socket.once('data', () => socket.pause());
  }),
);
const body = { file: { maxSize: '10MB', types: ['audio/wav'] } };
const gateway = await startGateway(scene, {
  limits: { inFlightPerConnection: 1 },
  plans: {
    place: { concurrency: 1 },
    unit: { quotas: [{ name: 'life', limit: 1, per: 'lifetime' }] },
    free: {},
  },
  keys: ['place', 'unit', 'free'].flatMap((plan) => keysOf(plan, plan)),
  upstreams: {
    recognition: { targets: [failing.url] },
    hasty: { targets: [`http://127.0.0.1:${hasty}`] },
    deaf: { targets: [`http://127.0.0.1:${deaf}`] },
  },
  routes: [
    { path: '/v1/up', methods: ['PUT'], body },
    { path: '/v1/get', methods: ['GET'] },
    { path: '/v1/hasty/up', methods: ['PUT'], body, upstream: 'hasty' },
    { path: '/v1/hasty/get', methods: ['GET'], upstream: 'hasty' },
    { path: '/v1/hasty/live', methods: ['GET'], upstream: 'hasty', upgrade: { websocket: {} } },
    { path: '/v1/deaf/up', methods: ['PUT'], body, upstream: 'deaf' },
  ],
});

test('an upload of a sixteenth of the memory for uploads waits there, and a larger one in a file, but for 256 KB', async (t) => {
  const share = 1024 * 1024;
  for (const declared of [share, share + 1]) {
    const client = await openRaw(t, gateway.port);
    client.write(requestBytes('PUT /v1/up', headersOf('free'), wav(declared - 44)).subarray(0, -100_000));
    // The last chunk that came may still be looked at.
    const { memory, disk } = await until(async () => {
      const held = await heldInSpool();
      return held.memory + held.disk > declared - 200_000 ? held : undefined;
    });
    if (declared === share) assert.equal(disk, 0);
    else assert.ok(memory > 64 * 1024 && memory <= 256 * 1024, `${memory} bytes in memory, ${disk} on disk`);
    client.socket.destroy();
    await until(async () => Object.values(await heldInSpool()).every((bytes) => bytes === 0));
  }
});

async function heldInSpool(): Promise<{ memory: number; disk: number }> {
  const page = await gateway.metrics();
  const read = (name: string): number =>
    Number(new RegExp(`^gatehouse_spool_${name}_bytes (\\d+)$`, 'm').exec(page)?.[1]);
  return { memory: read('memory'), disk: read('disk') };
}

for (const key of ['place', 'unit']) {
  test(`who has read the answer to an upload has the ${key} back that it took`, async (t) => {
    const upload = requestBytes('PUT /v1/up', headersOf(key), file);
    for (let turn = 0; turn < turns; turn += 1) {
      assert.deepEqual(await askTwice(t, upload, requestBytes('GET /v1/get', headersOf(key))), [500, 500]);
    }
  });
}

const handshake = [
  ['Connection', 'Upgrade'],
  ['Upgrade', 'websocket'],
  ['Sec-WebSocket-Version', '13'],
  ['Sec-WebSocket-Key', 'dGhlIHNhbXBsZSBub25jZQ=='],
] as const;
for (const [what, next, status] of [
  ['another request', requestBytes('GET /v1/hasty/get', headersOf('free')), 200],
  ['a WebSocket', requestBytes('GET /v1/hasty/live', [...headersOf('free'), ...handshake]), 101],
] as const) {
  test(`an upload that is answered before it was sent leaves its connection to ${what}`, async (t) => {
    const upload = requestBytes('PUT /v1/hasty/up', headersOf('free'), file);
    for (let turn = 0; turn < turns; turn += 1) {
      assert.deepEqual(await askTwice(t, upload, next), [200, status]);
    }
  });
}

test('an upload that is answered before it was sent leaves its connection to end as any other, and not to be read for a while', async (t) => {
  const client = await openRaw(t, gateway.port);
  client.socket.allowHalfOpen = true;
  client.write(requestBytes('PUT /v1/deaf/up', headersOf('free'), wav(8_000_000)));
  assert.equal((await client.responses(1))[0]?.status, 200);
  client.write(requestBytes('GET /v1/hasty/get', [...headersOf('free'), ['Connection', 'close']]));
  assert.equal((await client.responses(2))[1]?.status, 200);
  const refusesMore = (): boolean => {
    client.write('x');
    return client.error !== undefined;
  };
  // Sooner than one that is read would end.
  await until(refusesMore, { within: 10_000 });
});

function headersOf(key: string): [string, string][] {
  return [
    ['apiKey', secretOf(key)],
    ['Content-Type', 'audio/wav'],
  ];
}

/** The statuses of two requests on one connection, of which the second leaves as soon as the first answer is whole. */
async function askTwice(t: TestContext, first: Buffer, second: Buffer): Promise<number[]> {
  const client = await openRaw(t, gateway.port);
  client.socket.on('data', function askOn() {
    if (!/\r\n\r\n(?:ok|no)$/.test(client.received().toString('latin1'))) return;
    client.socket.off('data', askOn);
    client.write(second);
  });
  client.write(first);
  const answers = await client.responses(2);
  client.socket.destroy();
  return answers.map(({ status }) => status);
}

/** Answers as soon as it has heard of a request, and reads on. Closes, or what is asked next could stand behind the rest of a body. */
function answerAtOnce(socket: Socket): void {
  socket.on('error', () => socket.destroy());
  socket.on('data', (bytes: Buffer) => {
    const head = bytes.toString('latin1');
    if (/^upgrade: websocket/im.test(head)) socket.write(switched);
    else if (/^(?:GET|PUT) /.test(head)) socket.write(closing);
  });
}
