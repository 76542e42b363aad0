import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import { test } from 'node:test';
import type { TestContext } from 'node:test';
import type { Body, StreamedBody } from '../../../src/upstream/body.ts';
import { createUpstream } from '../../../src/upstream/upstream.ts';
import { collectGarbage } from '../../helpers/collect-garbage.ts';
import { listen } from '../../helpers/listen.ts';
import { until } from '../../helpers/poll.ts';
import { noProgress } from '../../helpers/progress.ts';
import { openRaw } from '../../helpers/raw-socket.ts';
import { startRawUpstream } from '../../helpers/raw-upstream.ts';

for (const [lane, size] of Object.entries({ buffered: 10_000, streamed: 100_000 })) {
  test(`what waits for a connection is let go when its client leaves: ${lane}`, async (t) => {
    const { ask, started } = await startScene(t, size);
    const patient = await ask();
    await until(() => started.silent.received.length === 1);
    const hasty = await Promise.all([ask(), ask(), ask()]);
    await until(() => started.bodies.length === 4);
    for (const { socket } of hasty) socket.destroy();
    await until(() => started.refusals.length === 3);
    assert.deepEqual(started.refusals, ['client_gone', 'client_gone', 'client_gone']);
    await until(() => {
      collectGarbage();
      return started.bodies.filter((body) => body.deref() !== undefined).length <= 1;
    });
    // Whoever comes next gets the connection.
    const next = await ask();
    await until(() => started.bodies.length === 5);
    const nothing = 'HTTP/1.1 204 No Content\r\n\r\n';
    started.silent.script = (socket) => socket.write(nothing);
    for (const socket of started.silent.sockets) socket.write(nothing);
    assert.equal((await patient.responses(1))[0]?.status, 204);
    assert.equal((await next.responses(1))[0]?.status, 204);
    assert.deepEqual(started.setAside, []);
  });
}

test('a target is not to blame for the time that went by in the line for its connections', async (t) => {
  const { ask, started } = await startScene(t, 100, { responseMs: 200 });
  // One after the other, so that some get their seat in the very moment in which their time is over.
  for (let clients = 0; clients < 60; clients += 1) await ask();
  await until(() => started.refusals.length === 60);
  assert.deepEqual(new Set(started.refusals), new Set(['upstream_timeout']));
  assert.deepEqual(started.setAside, []);
});

const lanes = {
  buffered: { size: 100, bodyOf: inMemory },
  streamed: { size: 100_000, bodyOf: inMemory },
  'of a spool': { size: 100, bodyOf: (bytes: Buffer) => streamed(bytes, { repeatable: true }) },
  'read once': { size: 100, bodyOf: (bytes: Buffer) => streamed(bytes, { repeatable: false }) },
};
for (const [lane, { size, bodyOf }] of Object.entries(lanes)) {
  test(`a kept connection that is closed just before a POST is sent costs the POST nothing, and the target no blame: ${lane}`, async (t) => {
    const { ask, started } = await startScene(t, size, { bodyOf });
    const nothing = 'HTTP/1.1 204 No Content\r\n\r\n';
    started.silent.script = (socket) => socket.write(nothing);
    assert.equal((await (await ask()).responses(1))[0]?.status, 204);
    const [kept] = started.silent.sockets;
    // After the connection was chosen, and before it is written to.
    started.onSend = () => setImmediate(() => kept?.resetAndDestroy());
    assert.equal((await (await ask()).responses(1))[0]?.status, 204);
    assert.deepEqual(started.setAside, []);
    assert.deepEqual(started.refusals, []);
    assert.equal(started.silent.received.length, 2);
  });
}

test('a body that is read once and was begun is not sent again, though nothing of it had left', async (t) => {
  const { promise: whenBegun, resolve: begun } = Promise.withResolvers<void>();
  const { promise: forEver } = Promise.withResolvers<void>();
  let reads = 0;
  const { ask, started } = await startScene(t, 100, {
    bodyOf: (bytes) => {
      const body = streamed(bytes, { repeatable: false });
      if (started.bodies.length === 1) return body;
      const read = async function* (): AsyncGenerator<Buffer, void> {
        reads += 1;
        assert.equal(reads, 1, 'it was read twice');
        begun();
        await forEver;
        yield bytes;
      };
      return { ...body, read };
    },
  });
  started.silent.script = (socket) => socket.write('HTTP/1.1 204 No Content\r\n\r\n');
  assert.equal((await (await ask()).responses(1))[0]?.status, 204);
  await ask();
  await whenBegun;
  for (const socket of started.silent.sockets) socket.resetAndDestroy();
  await until(() => started.refusals.length === 1);
  assert.deepEqual(started.refusals, ['upstream_broken']);
  assert.equal(reads, 1);
});

function inMemory(bytes: Buffer): Body {
  return { kind: 'bytes', bytes, release: () => undefined };
}

function streamed(bytes: Buffer, { repeatable }: { repeatable: boolean }): StreamedBody {
  let reads = 0;
  return {
    kind: 'stream',
    length: bytes.length,
    read: async function* () {
      reads += 1;
      assert.ok(repeatable || reads === 1, 'it was read twice');
      yield bytes;
    },
    repeatable,
    release: () => undefined,
  };
}

/** An upstream with one connection that is silent, and clients whose requests all go there. */
async function startScene(t: TestContext, size: number, { responseMs = 60_000, bodyOf = inMemory } = {}) {
  const silent = await startRawUpstream(t);
  const started = {
    silent,
    bodies: [] as WeakRef<Buffer>[],
    refusals: [] as unknown[],
    setAside: [] as string[],
    onSend: (): unknown => undefined,
  };
  const upstream = createUpstream(
    {
      name: 'one',
      targets: [silent.url],
      timeouts: { connectMs: 5000, responseMs, idleMs: 60_000 },
      connections: 1,
      preserveHost: false,
      ca: undefined,
    },
    {
      countError: () => undefined,
      setAside: (_upstream, target) => started.setAside.push(target),
      usedAgain: assert.fail,
    },
  );
  t.after(() => upstream.close());
  const port = await listen(
    t,
    createServer((_req, res) => {
      const bytes = Buffer.alloc(size);
      started.bodies.push(new WeakRef(bytes));
      const request = {
        method: 'POST',
        target: '/',
        headers: ['content-length', String(size)],
        body: bodyOf(bytes),
        host: 'a',
        answerHeaders: [],
        costHeader: undefined,
        switching: undefined,
      };
      upstream.send(request, res, noProgress()).catch((error: unknown) => {
        started.refusals.push(error instanceof Error && 'code' in error ? error.code : error);
        res.destroy();
      });
      started.onSend();
    }),
  );
  const ask = async () => {
    const raw = await openRaw(t, port);
    raw.write('GET / HTTP/1.1\r\nHost: a\r\n\r\n');
    return raw;
  };
  return { ask, started };
}
