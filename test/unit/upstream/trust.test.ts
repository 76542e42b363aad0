import assert from 'node:assert/strict';
import { constants } from 'node:crypto';
import type { ServerResponse } from 'node:http';
import { createServer as createSecureServer } from 'node:https';
import { after, test } from 'node:test';
import { createSecureContext, type TLSSocket } from 'node:tls';
import { queryObjects } from 'node:v8';
import { makeCertificate } from '../../helpers/certificates.ts';
import { listen } from '../../helpers/listen.ts';
import { until } from '../../helpers/poll.ts';
import { startUpstreamScene } from '../../helpers/upstream-scene.ts';

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
  const target = `https://127.0.0.1:${await listen(t, secure)}`;
  for (const [lane, size] of Object.entries(lanes)) {
    const { statusOf } = await startUpstreamScene(t, size, { target, ca: certificate.cert, connections: 8 });
    const before = countContexts();
    const statuses = await Promise.all(Array.from({ length: 8 }, statusOf));
    assert.deepEqual(new Set(statuses), new Set([200]));
    assert.equal(countContexts(), before, lane);
  }
  assert.deepEqual([...spoken], ['http/1.1']);
});

test('a target whose certificate is not trusted is not reached', async (t) => {
  const other = makeCertificate(t, ['IP:127.0.0.1']);
  const named = makeCertificate(t, ['DNS:elsewhere.test']);
  const target = `https://127.0.0.1:${await listen(t, createSecureServer(certificate))}`;
  const misnamed = `https://127.0.0.1:${await listen(t, createSecureServer(named))}`;
  const probe = async (options: { target: string; ca: string }): Promise<void> =>
    (await startUpstreamScene(t, 0, options)).upstream.probe();
  await probe({ target, ca: certificate.cert });
  await assert.rejects(probe({ target, ca: other.cert }));
  await assert.rejects(probe({ target: misnamed, ca: named.cert }));
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
      const { cert: ca } = certificate;
      const { statusOf } = await startUpstreamScene(t, size, { target, ca, connectMs: 300 });
      await until(async () => (await statusOf()) === 200 && sessions.size > 0);
      await until(async () => (await statusOf()) !== 200 && met > 0);
      await until(async () => (await statusOf()) === 200);
    });
  }
}

/** What connections over TLS trust and show; each has one of its own unless it was given one. */
function countContexts(): number {
  return queryObjects(createSecureContext().constructor, { format: 'count' });
}
