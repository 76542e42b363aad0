import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect } from 'node:net';
import { test } from 'node:test';
import { until } from '../helpers/poll.ts';
import { startGateway } from '../helpers/start-gateway.ts';

const clients = 600;

test(`${clients} clients that come while the gateway is busy are all let in, and served when it is not`, async (t) => {
  const gateway = await startGateway(t);
  process.kill(gateway.pid, 'SIGSTOP');
  const sockets = Array.from({ length: clients }, () => connect(gateway.port, '127.0.0.1'));
  t.after(() => sockets.forEach((socket) => socket.destroy()));
  // One that found no place would hear nothing as long as nobody is taken.
  await until(() => sockets.every(({ connecting }) => !connecting), { what: 'all are let in' });
  process.kill(gateway.pid, 'SIGCONT');
  const answers = await Promise.all(
    sockets.map(async (socket) => {
      socket.write('GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n');
      const [head] = (await once(socket, 'data')) as [Buffer];
      return head.toString('latin1', 9, 12);
    }),
  );
  assert.deepEqual(new Set(answers), new Set(['401']));
});
