import assert from 'node:assert/strict';
import { createServer, type Socket } from 'node:net';
import { test } from 'node:test';
import { createServer as createTlsServer } from 'node:tls';
import { createConnector, createTrust } from '../../../src/upstream/connect.ts';
import { makeCertificate } from '../../helpers/certificates.ts';
import { collectGarbage } from '../../helpers/collect-garbage.ts';
import { holdUp } from '../../helpers/hold-up.ts';
import { listen } from '../../helpers/listen.ts';
import { until } from '../../helpers/poll.ts';
import { silenceResolver } from '../../helpers/silence-resolver.ts';

const unwanted = (socket: Socket): void => {
  socket.destroy();
  assert.fail('it connected');
};

test('the time to connect is never cut short, TLS included, and what it ends is closed', async (t) => {
  const timeoutMs = 900;
  const silent = new Set<Socket>();
  const server = createServer((socket) => {
    silent.add(socket);
    socket.on('error', () => undefined).on('close', () => silent.delete(socket));
    socket.resume();
  });
  const port = await listen(t, server);
  const connect = createConnector(new URL(`https://127.0.0.1:${port}`), timeoutMs, {});
  const waits: number[] = [];
  for (let turn = 0; turn < 6; turn += 1) {
    const startedAt = performance.now();
    connect(unwanted, (error) => {
      assert.equal(error.name, 'ConnectTimeout');
      waits.push(performance.now() - startedAt);
    });
    await until(() => performance.now() - startedAt > 80);
  }
  await until(() => waits.length === 6);
  assert.ok(Math.min(...waits) > timeoutMs - 10, `one had only ${Math.min(...waits)} ms`);
  await until(() => silent.size === 0);
});

test('a connection that is made after its time is closed, and nobody is told of it twice', async (t) => {
  const certificate = makeCertificate(t, ['IP:127.0.0.1']);
  const secure = createTlsServer(certificate, (socket) => socket.on('error', () => undefined).resume());
  const late: Socket[] = [];
  const server = createServer({ pauseOnConnect: true }, (socket) => late.push(socket));
  const port = await listen(t, server);
  const trust = createTrust(certificate.cert);
  const connect = createConnector(new URL(`https://127.0.0.1:${port}`), 100, trust);
  const answers: string[] = [];
  connect(unwanted, (error) => answers.push(error.name));
  await until(() => answers.length > 0 && late.length > 0);
  // Only now the target greets.
  secure.emit('connection', late[0]?.resume());
  await until(() => late[0]?.closed);
  assert.deepEqual(answers, ['ConnectTimeout']);
});

for (const scheme of ['http', 'https']) {
  test(`a resolver that is silent holds nothing of who was given up: ${scheme}`, async (t) => {
    const asked = silenceResolver(t);
    const connect = createConnector(new URL(`${scheme}://silent-${scheme}.test`), 20, {});
    const requests: WeakRef<object>[] = [];
    let failures = 0;
    const ask = (request: object): void => {
      requests.push(new WeakRef(request));
      connect(unwanted, () => void (failures += Object.keys(request).length));
    };
    for (let turn = 0; turn < 3; turn += 1) ask({ turn });
    await until(() => failures === 3);
    assert.deepEqual(asked, [`silent-${scheme}.test`]);
    await until(() => {
      collectGarbage();
      return requests.every((request) => request.deref() === undefined);
    });
  });
}

test('a connection that was there in time is taken by a process that was held up', async (t) => {
  const port = await listen(t, createServer());
  const connect = createConnector(new URL(`http://127.0.0.1:${port}`), 50, {});
  const { promise, resolve, reject } = Promise.withResolvers<Socket>();
  connect(resolve, reject);
  holdUp(150);
  (await promise).destroy();
});

test('a target that closes instead of greeting is a connection that failed, told of once', async (t) => {
  const port = await listen(
    t,
    createServer((socket) => void socket.end()),
  );
  const connect = createConnector(new URL(`https://127.0.0.1:${port}`), 5000, {});
  const answers: string[] = [];
  connect(unwanted, (error) => answers.push(error.message));
  await until(() => answers.length > 0);
  for (let turn = 0; turn < 3; turn += 1) await new Promise(setImmediate);
  assert.equal(answers.length, 1);
});

test('a session with a target is resumed by the next connection', async (t) => {
  const certificate = makeCertificate(t, ['IP:127.0.0.1']);
  const resumed: boolean[] = [];
  const server = createTlsServer(certificate, (socket) => {
    resumed.push(socket.isSessionReused());
    socket.on('error', () => undefined).end('bye');
  });
  const port = await listen(t, server);
  const connect = createConnector(new URL(`https://127.0.0.1:${port}`), 5000, createTrust(certificate.cert));
  for (let turn = 0; turn < 2; turn += 1) {
    const { promise, resolve, reject } = Promise.withResolvers<string>();
    connect(
      (socket) => void socket.on('error', reject).on('close', () => reject(new Error('it closed early'))),
      reject,
      (bytes) => resolve(bytes.toString()),
    );
    assert.equal(await promise, 'bye');
    await until(() => resumed.length === turn + 1);
  }
  assert.deepEqual(resumed, [false, true]);
});
