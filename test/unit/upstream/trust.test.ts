import assert from 'node:assert/strict';
import { createServer, type ServerResponse } from 'node:http';
import { createServer as createSecureServer } from 'node:https';
import { test, type TestContext } from 'node:test';
import { createSecureContext, type TLSSocket } from 'node:tls';
import { queryObjects } from 'node:v8';
import { createUpstream, type Upstream } from '../../../src/upstream/upstream.ts';
import { makeCertificate } from '../../helpers/certificates.ts';
import { listen } from '../../helpers/listen.ts';
import { noProgress } from '../../helpers/progress.ts';

test('the authorities of an upstream are read once, not for each connection', async (t) => {
  const certificate = makeCertificate(t, ['IP:127.0.0.1']);
  const waiting: ServerResponse[] = [];
  const spoken = new Set<unknown>();
  const secure = createSecureServer({ ...certificate, ALPNProtocols: ['h2', 'http/1.1'] }, (req, res) => {
    spoken.add((req.socket as TLSSocket).alpnProtocol);
    waiting.push(res);
    // All at once, so that each has a connection of its own.
    if (waiting.length === 8) for (const each of waiting.splice(0)) each.end();
  });
  const upstream = startUpstream(t, `https://127.0.0.1:${await listen(t, secure)}`, certificate.cert);
  const front = createServer((req, res) => {
    const size = Number(req.url?.slice(1));
    const request = {
      method: 'POST',
      path: '/',
      headers: ['content-length', String(size)],
      body: { kind: 'bytes', bytes: Buffer.alloc(size), release: () => undefined } as const,
      host: 'a',
      ourHeaders: () => [],
      costHeader: undefined,
      whenWhole: undefined,
      switching: undefined,
    };
    void upstream.send(request, res, noProgress());
  });
  const port = await listen(t, front);
  const before = countContexts();
  for (const [lane, size] of Object.entries({ buffered: 100, streamed: 100_000 })) {
    const answers = Array.from({ length: 8 }, () => fetch(`http://127.0.0.1:${port}/${size}`));
    for (const { status } of await Promise.all(answers)) assert.equal(status, 200);
    assert.equal(countContexts(), before, lane);
  }
  assert.deepEqual([...spoken], ['http/1.1']);
});

test('a target whose certificate is not trusted is not reached', async (t) => {
  const own = makeCertificate(t, ['IP:127.0.0.1']);
  const other = makeCertificate(t, ['IP:127.0.0.1']);
  const named = makeCertificate(t, ['DNS:elsewhere.test']);
  const port = await listen(t, createSecureServer(own));
  const misnamed = await listen(t, createSecureServer(named));
  await startUpstream(t, `https://127.0.0.1:${port}`, own.cert).probe();
  await assert.rejects(startUpstream(t, `https://127.0.0.1:${port}`, other.cert).probe());
  await assert.rejects(startUpstream(t, `https://127.0.0.1:${misnamed}`, named.cert).probe());
});

function startUpstream(t: TestContext, target: string, ca: string): Upstream {
  const upstream = createUpstream(
    {
      name: 'one',
      targets: [target],
      timeouts: { connectMs: 5000, responseMs: 60_000, idleMs: 60_000 },
      connections: 8,
      preserveHost: false,
      ca,
    },
    { countError: assert.fail, setAside: assert.fail, usedAgain: assert.fail },
  );
  t.after(() => upstream.close());
  return upstream;
}

/** What connections over TLS trust and show; each has one of its own unless it was given one. */
function countContexts(): number {
  return queryObjects(createSecureContext().constructor, { format: 'count' });
}
