import assert from 'node:assert/strict';
import { constants } from 'node:crypto';
import { createServer, type ServerResponse } from 'node:http';
import { createServer as createSecureServer } from 'node:https';
import { after, test, type TestContext } from 'node:test';
import { createSecureContext, type TLSSocket } from 'node:tls';
import { queryObjects } from 'node:v8';
import { createUpstream, type Upstream } from '../../../src/upstream/upstream.ts';
import { makeCertificate } from '../../helpers/certificates.ts';
import { listen } from '../../helpers/listen.ts';
import { until } from '../../helpers/poll.ts';
import { noProgress } from '../../helpers/progress.ts';

const certificate = makeCertificate({ after }, ['IP:127.0.0.1']);
const lanes = { buffered: 100, streamed: 100_000 };

test('the authorities of an upstream are read once, not for each connection', async (t) => {
  const waiting: ServerResponse[] = [];
  const spoken = new Set<unknown>();
  const secure = createSecureServer({ ...certificate, ALPNProtocols: ['h2', 'http/1.1'] }, (req, res) => {
    spoken.add((req.socket as TLSSocket).alpnProtocol);
    waiting.push(res);
    // All at once, so that each has a connection of its own.
    if (waiting.length === 8) for (const each of waiting.splice(0)) each.end();
  });
  const upstream = startUpstream(t, `https://127.0.0.1:${await listen(t, secure)}`, certificate.cert);
  const port = await startFront(t, upstream);
  const before = countContexts();
  for (const [lane, size] of Object.entries(lanes)) {
    const answers = Array.from({ length: 8 }, () => fetch(`http://127.0.0.1:${port}/${size}`));
    for (const { status } of await Promise.all(answers)) assert.equal(status, 200);
    assert.equal(countContexts(), before, lane);
  }
  assert.deepEqual([...spoken], ['http/1.1']);
});

test('a target whose certificate is not trusted is not reached', async (t) => {
  const other = makeCertificate(t, ['IP:127.0.0.1']);
  const named = makeCertificate(t, ['DNS:elsewhere.test']);
  const port = await listen(t, createSecureServer(certificate));
  const misnamed = await listen(t, createSecureServer(named));
  await startUpstream(t, `https://127.0.0.1:${port}`, certificate.cert).probe();
  await assert.rejects(startUpstream(t, `https://127.0.0.1:${port}`, other.cert).probe());
  await assert.rejects(startUpstream(t, `https://127.0.0.1:${misnamed}`, named.cert).probe());
});

type Done = (error: Error | null, data: null) => void;

/** What becomes of whoever offers a session that the server does not find. It should do without. */
const unfound = {
  refused: (done: Done) => done(new Error('out of order'), null),
  'left unanswered': () => undefined,
};

for (const [lane, size] of Object.entries(lanes)) {
  for (const [fate, meet] of Object.entries(unfound)) {
    test(`a session that is ${fate} is not offered for ever: ${lane}`, async (t) => {
      const secure = createSecureServer(
        { ...certificate, maxVersion: 'TLSv1.2', secureOptions: constants.SSL_OP_NO_TICKET },
        (req, res) => req.resume().once('end', () => res.setHeader('Connection', 'close').end()),
      );
      const sessions = new Set<string>();
      secure.on('newSession', (id: Buffer, _: Buffer, done: () => void) => {
        sessions.add(id.toString('hex'));
        done();
      });
      let met = 0;
      secure.on('resumeSession', (id: Buffer, done: Done) => {
        if (!sessions.has(id.toString('hex'))) return done(null, null);
        met += 1;
        meet(done);
      });
      const target = `https://127.0.0.1:${await listen(t, secure)}`;
      const upstream = startUpstream(t, target, certificate.cert, { connectMs: 300, events: unheard });
      const port = await startFront(t, upstream);
      const ask = async (): Promise<number> => (await fetch(`http://127.0.0.1:${port}/${size}`)).status;
      await until(async () => (await ask()) === 200 && sessions.size > 0);
      await until(async () => (await ask()) !== 200 && met > 0);
      await until(async () => (await ask()) === 200);
    });
  }
}

/** Takes requests for a body of so many bytes, and sends them to the upstream. */
function startFront(t: TestContext, upstream: Upstream): Promise<number> {
  const front = createServer((req, res) => {
    const size = Number(req.url?.slice(1));
    const request = {
      method: 'POST',
      path: '/',
      headers: ['content-length', String(size)],
      body: { kind: 'bytes', bytes: Buffer.alloc(size), length: size, release: () => undefined } as const,
      host: 'a',
      ourHeaders: () => [],
      costHeader: undefined,
      whenWhole: undefined,
      switching: undefined,
    };
    upstream.send(request, res, noProgress()).catch(() => res.writeHead(502).end());
  });
  return listen(t, front);
}

type UpstreamEvents = Parameters<typeof createUpstream>[1];

const failing: UpstreamEvents = { countError: assert.fail, setAside: assert.fail, usedAgain: assert.fail };
const unheard: UpstreamEvents = {
  countError: () => undefined,
  setAside: () => undefined,
  usedAgain: () => undefined,
};

function startUpstream(
  t: TestContext,
  target: string,
  ca: string,
  { connectMs, events } = { connectMs: 5000, events: failing },
): Upstream {
  const upstream = createUpstream(
    {
      name: 'one',
      targets: [target],
      timeouts: { connectMs, responseMs: 60_000, idleMs: 60_000 },
      connections: 8,
      preserveHost: false,
      ca,
    },
    events,
  );
  t.after(() => upstream.close());
  return upstream;
}

/** What connections over TLS trust and show; each has one of its own unless it was given one. */
function countContexts(): number {
  return queryObjects(createSecureContext().constructor, { format: 'count' });
}
