import assert from 'node:assert/strict';
import { createServer, type Socket } from 'node:net';
import { after, test } from 'node:test';
import { formBody } from '../helpers/form-body.ts';
import { listen } from '../helpers/listen.ts';
import { unnamedFiles } from '../helpers/open-files.ts';
import { until } from '../helpers/poll.ts';
import { openRaw, type RawSocket } from '../helpers/raw-socket.ts';
import { wav } from '../helpers/sample-files.ts';
import { uploadBytes } from '../helpers/send-upload.ts';
import { startGateway } from '../helpers/start-gateway.ts';

/** What one leaves shows as well as what three do. `npm run test:soak` asks for many more. */
const turns = Number(process.env['SOAK'] ?? 1);

/** What the upstream does with a connection; the gateway's side of it is what is tested. */
type Part = (socket: Socket, received: () => number) => void;

const scene = { after };
const upstreamSockets = new Set<Socket>();
let part: Part = () => {};
const upstream = createServer((socket) => {
  let bytes = 0;
  upstreamSockets.add(socket);
  socket.on('close', () => upstreamSockets.delete(socket)).on('error', () => socket.destroy());
  socket.on('data', (chunk) => {
    bytes += chunk.length;
    part(socket, () => bytes);
  });
});
const upstreamPort = await listen(scene, upstream);
after(() => {
  for (const socket of upstreamSockets) socket.destroy();
});
const files = { file: { types: ['audio/wav'] } };
const gateway = await startGateway(
  scene,
  {
    routes: [
      { path: '/v1/whole', methods: ['POST'], body: { upload: { files, forward: 'whole' } } },
      { path: '/v1/stream', methods: ['POST'], body: { upload: { files, forward: 'stream' } } },
      { path: '/v1/any', methods: ['POST'], body: { any: {} } },
    ],
  },
  { upstream: `http://127.0.0.1:${upstreamPort}` },
);

const body = formBody([{ name: 'file', fileName: 'a.wav', type: 'audio/wav', data: wav(300_000) }]);
const head = 'HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\n';
const silent: Part = () => {};
const answerHalf: Part = (socket, received) => {
  if (received() >= body.length) socket.write(`${head}half`);
};

/** What the client does with its connection after what it has sent. */
const clientPhases: Readonly<Record<string, { bytes: number; part: Part; answered: boolean }>> = {
  'in its head': { bytes: -50, part: silent, answered: false },
  'after its head': { bytes: 0, part: silent, answered: false },
  'in its body': { bytes: 150_000, part: silent, answered: false },
  'before its answer': { bytes: body.length, part: silent, answered: false },
  'in its answer': { bytes: body.length, part: answerHalf, answered: true },
};

const upstreamPhases: Readonly<Record<string, (socket: Socket, bytes: number) => boolean>> = {
  'at the first byte': () => true,
  'in the body': (_socket, bytes) => bytes > 150_000,
  'before its answer': (_socket, bytes) => bytes >= body.length,
  'in the head of its answer': (socket, bytes) => bytes >= body.length && socket.write('HTTP/1.1 20'),
  'in its answer': (socket, bytes) => bytes >= body.length && socket.write(`${head}half`),
};

for (const path of ['/v1/whole', '/v1/stream', '/v1/any']) {
  const { head: requestHead } = uploadBytes({ path, body });
  for (const [phase, { bytes, part: role, answered }] of Object.entries(clientPhases)) {
    for (const reset of [false, true]) {
      test(`${path}: a client that ${reset ? 'resets' : 'closes'} ${phase} leaves nothing`, async (t) => {
        part = role;
        for (let turn = 0; turn < turns; turn += 1) {
          const raw = await openRaw(t, gateway.port);
          raw.write(bytes < 0 ? requestHead.subarray(0, bytes) : requestHead);
          if (bytes > 0) raw.write(body.subarray(0, bytes));
          await until(() => raw.socket.writableLength === 0);
          if (answered) await raw.receivedUntil((received) => received.includes('half'));
          leave(raw, reset);
        }
        await nothingLeft();
      });
    }
  }
  for (const [phase, comes] of Object.entries(upstreamPhases)) {
    for (const reset of [false, true]) {
      test(`${path}: an upstream that ${reset ? 'resets' : 'closes'} ${phase} leaves nothing`, async (t) => {
        part = (socket, received) => {
          if (!comes(socket, received())) return;
          if (reset) setImmediate(() => socket.resetAndDestroy());
          else socket.end();
        };
        for (let turn = 0; turn < turns; turn += 1) {
          const raw = await openRaw(t, gateway.port);
          raw.write(Buffer.concat([requestHead, body]));
          await until(() => raw.closed || raw.received().includes('"error"'));
          assert.ok(!/^HTTP\/1\.1 200.*half$/s.test(raw.received().toString()) || raw.closed);
          raw.socket.destroy();
        }
        await nothingLeft();
      });
    }
  }
}

test('after all of it the gateway is the process it was', () => {
  assert.equal(gateway.child.exitCode, null);
  assert.doesNotMatch(gateway.logText(), /"level":"(?:error|fatal)"|Warning/);
});

function leave(raw: RawSocket, reset: boolean): void {
  if (reset) raw.socket.resetAndDestroy();
  else raw.socket.destroy();
}

async function nothingLeft(): Promise<void> {
  part = () => {};
  await until(
    async () =>
      (await gateway.inFlight()) === 0 && unnamedFiles(gateway.pid) === 0 && upstreamSockets.size === 0,
    { what: 'nothing is left' },
  );
}
