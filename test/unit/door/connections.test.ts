import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import { test } from 'node:test';
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { Limits } from '../../../src/config/config.ts';
import { Connections } from '../../../src/door/connections.ts';
import { Visit } from '../../../src/visit.ts';
import { listen } from '../../helpers/listen.ts';
import { until } from '../../helpers/poll.ts';
import { openRaw } from '../../helpers/raw-socket.ts';

test('nothing is left only when every request has been settled, and not as soon as its connection is gone', async (t) => {
  const connections = new Connections({ connections: 1, inFlight: 1, inFlightPerConnection: 1 } as Limits);
  let leave: (() => void) | undefined;
  const server = createServer((req, res) => {
    req.visit = new Visit('id', { peer: '', client: '', trusted: false });
    leave = connections.enter(res);
  });
  server.on('connection', (socket) => connections.opened(socket));
  const client = await openRaw(t, await listen(t, server));
  client.write('GET / HTTP/1.1\r\nHost: a\r\n\r\n');
  await until(() => leave);
  client.socket.destroy();
  await until(() => connections.count === 0);
  t.mock.method(performance, 'now', () => 0); // or a busy machine may run out of patience
  let isGone = false;
  const gone = connections.gone().then(() => (isGone = true));
  await nextTurn();
  assert.ok(!isGone);
  leave?.();
  await gone;
});
