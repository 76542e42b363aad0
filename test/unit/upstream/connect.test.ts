import assert from 'node:assert/strict';
import { createServer } from 'node:net';
import type { Socket } from 'node:net';
import { test } from 'node:test';
import { createServer as createTlsServer } from 'node:tls';
import { createConnector, createTrust } from '../../../src/upstream/connect.ts';
import { makeCertificate } from '../../helpers/certificates.ts';
import { listen } from '../../helpers/listen.ts';
import { until } from '../../helpers/poll.ts';

test('the time to connect is never cut short, TLS included, and what it ends is closed', async (t) => {
  const timeoutMs = 900;
  const silent = new Set<Socket>();
  const server = createServer((socket) => {
    silent.add(socket);
    socket.on('error', () => undefined).on('close', () => silent.delete(socket));
    socket.resume();
  });
  const port = await listen(t, server);
  const connect = createConnector({ hostname: '127.0.0.1', timeoutMs, trust: {} });
  const options = { hostname: '127.0.0.1', protocol: 'https:', port: String(port) };
  const waits: number[] = [];
  // One after the other, so that undici's clock is going and ticks in the midst of some.
  for (let turn = 0; turn < 6; turn += 1) {
    const startedAt = performance.now();
    connect(options, (...[error]) => {
      assert.equal(error?.name, 'ConnectTimeoutError');
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
  const connect = createConnector({ hostname: '127.0.0.1', timeoutMs: 100, trust });
  const answers: (string | undefined)[] = [];
  connect({ hostname: '127.0.0.1', protocol: 'https:', port: String(port) }, (...[error]) => {
    answers.push(error?.name);
  });
  await until(() => answers.length > 0 && late.length > 0);
  // Only now the target greets, within the second by which undici is more patient.
  secure.emit('connection', late[0]?.resume());
  await until(() => late[0]?.closed);
  assert.deepEqual(answers, ['ConnectTimeoutError']);
});
