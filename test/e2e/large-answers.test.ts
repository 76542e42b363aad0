import assert from 'node:assert/strict';
import { randomBytes, randomInt } from 'node:crypto';
import { once } from 'node:events';
import { Agent, createServer, request, type IncomingMessage, type ServerResponse } from 'node:http';
import { createServer as createSecureServer } from 'node:https';
import { after, test, type TestContext } from 'node:test';
import { setImmediate as turn } from 'node:timers/promises';
import { makeCertificate } from '../helpers/certificates.ts';
import { listen } from '../helpers/listen.ts';
import { demoKey, startGateway } from '../helpers/start-gateway.ts';

const megabyte = 1024 * 1024;
const scene = { after };
const certificate = makeCertificate(scene, ['IP:127.0.0.1']);
const plain = createServer((req, res) => void answer(req, res));
const secure = createSecureServer(certificate, (req, res) => void answer(req, res));
const body = { any: { maxSize: '10MB' } };
/** A handshake of TLS takes what the machine has to spare. */
const timeouts = { connect: '30s' };
const gateway = await startGateway(scene, {
  upstreams: {
    recognition: { targets: [`http://127.0.0.1:${await listen(scene, plain)}`] },
    secure: { targets: [`https://127.0.0.1:${await listen(scene, secure)}`], ca: certificate.cert, timeouts },
  },
  routes: [
    { path: '/v1/buffered/*', methods: ['GET'] },
    { path: '/v1/secure/*', methods: ['GET'], upstream: 'secure' },
    { path: '/v1/streamed/*', methods: ['POST'], body },
    { path: '/v1/streamed-secure/*', methods: ['POST'], body, upstream: 'secure' },
  ],
});

/** What answers are cut from. */
const noise = randomBytes(4 * megabyte);

const answersEach = 6;
const parallel = 8;

const answersToCollect = 120;

/** Left to the collector, they are reason for nine. */
const collectionsMax = 4;

const framings = ['length', 'chunked', 'close'];

for (const [method, prefix, way] of [
  ['GET', '/v1/buffered', 'without a body'],
  ['GET', '/v1/secure', 'over TLS'],
  ['POST', '/v1/streamed', 'behind a streamed body'],
  ['POST', '/v1/streamed-secure', 'behind a streamed body, over TLS'],
] as const) {
  test(`a large answer is what the upstream sent, whatever pieces it comes in: ${way}`, async (t) => {
    const agent = agentOf(t);
    const one = async (_: unknown, index: number): Promise<void> => {
      const [from, size] = [randomInt(megabyte), randomInt(3 * megabyte)];
      const path = `${prefix}/${framings[index % 3]}/${from}/${size}`;
      const received = await readAnswer({ agent, method, path });
      assert.ok(received.equals(noise.subarray(from, from + size)), path);
    };
    await Promise.all(Array.from({ length: answersEach }, one));
  });
}

test('what was passed on of large answers does not wait for the collector', async (t) => {
  const agent = agentOf(t);
  const path = `/v1/buffered/whole/0/${megabyte}`;
  const before = await collections();
  await Promise.all(
    Array.from({ length: answersToCollect }, () => readAnswer({ agent, method: 'GET', path })),
  );
  const count = (await collections()) - before;
  t.diagnostic(`${count} collections of the whole heap`);
  assert.ok(count < collectionsMax, `${count} collections of the whole heap`);
});

/** In pieces of all sizes, some at once and some a turn later. */
async function answer(req: IncomingMessage, res: ServerResponse): Promise<void> {
  await once(req.resume(), 'end');
  const [framing, from, size] = (req.url ?? '').split('/').slice(-3);
  if (framing === 'length') res.setHeader('Content-Length', Number(size));
  if (framing === 'close') {
    res.setHeader('Connection', 'close');
    res.removeHeader('Transfer-Encoding');
  }
  const end = Number(from) + Number(size);
  if (framing === 'whole') return void res.end(noise.subarray(Number(from), end));
  for (let at = Number(from); at < end;) {
    const next = Math.min(end, at + pieceSizes[randomInt(pieceSizes.length)]!);
    if (!res.write(noise.subarray(at, next)) && res.socket?.writableNeedDrain === true)
      await once(res, 'drain');
    if (randomInt(8) === 0) await turn();
    at = next;
  }
  res.end();
}

const pieceSizes = [1, 100, 5000, 16_384, 32_768, 65_535, 65_536, 70_000, 300_000];

interface Call {
  readonly agent: Agent;
  readonly method: string;
  readonly path: string;
}

function agentOf(t: TestContext): Agent {
  const agent = new Agent({ keepAlive: true, maxSockets: parallel });
  t.after(() => agent.destroy());
  return agent;
}

/** Reads an answer as a client does that is busy now and then. */
async function readAnswer({ agent, method, path }: Call): Promise<Buffer> {
  const outgoing = request({ agent, method, path, port: gateway.port, headers: { apiKey: demoKey } });
  outgoing.end(method === 'POST' ? noise.subarray(0, 100_000) : undefined);
  const [incoming] = (await once(outgoing, 'response')) as [IncomingMessage];
  assert.equal(incoming.statusCode, 200);
  const chunks: Buffer[] = [];
  for await (const chunk of incoming) {
    chunks.push(chunk as Buffer);
    if (randomInt(16) === 0) await turn();
  }
  return Buffer.concat(chunks);
}

/** How often all of the heap was collected so far. */
async function collections(): Promise<number> {
  const metrics = await gateway.metrics();
  const counts = [...metrics.matchAll(/^nodejs_gc_duration_seconds_count\{kind="(\w+)"\} (\d+)/gm)];
  return Number(counts.find(([, kind]) => kind === 'major')?.[2] ?? 0);
}
