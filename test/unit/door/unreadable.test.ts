import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { Socket } from 'node:net';
import { test } from 'node:test';
import type { Limits } from '../../../src/config/config.ts';
import { Connections } from '../../../src/door/connections.ts';
import { answerClientError } from '../../../src/door/unreadable.ts';
import { createWording } from '../../../src/refusals.ts';
import { Visit } from '../../../src/visit.ts';
import { bodyBroken } from '../../../src/wire/broken-body.ts';
import { listen } from '../../helpers/listen.ts';
import { until } from '../../helpers/poll.ts';
import { openRaw, requestBytes } from '../../helpers/raw-socket.ts';

const begun: readonly [what: string, bytes: Buffer][] = [
  ['a head', Buffer.from('GET / HTTP/1.1\r\nHost')],
  ['a body', requestBytes('POST /', [], 'mine').subarray(0, -1)],
];

for (const [what, bytes] of begun) {
  for (const leave of ['end', 'resetAndDestroy'] as const) {
    test(`a client that leaves in the middle of ${what} is gone, and no bad request (${leave})`, async (t) => {
      const connections = new Connections({ inFlight: 1, inFlightPerConnection: 1 } as Limits);
      const told: unknown[] = [];
      const server = createServer((req, res) => {
        req.visit = new Visit('id', { peer: '', client: '', trusted: false });
        connections.enter(res, connections.of(res.req.socket));
        req.on('error', () => undefined).on(bodyBroken, (refusal) => told.push(refusal));
      });
      server.on('connection', (socket) => connections.opened(socket));
      server.on('clientError', (error, socket) => {
        const wording = createWording(new Map());
        answerClientError(error, socket as Socket, {
          connections,
          wording,
          onUnreadable: ({ cause }) => told.push(cause),
        });
      });
      const opened = once(server, 'connection');
      const client = await openRaw(t, await listen(t, server));
      const [socket] = (await opened) as [Socket];
      client.write(bytes);
      await until(() => socket.bytesRead === bytes.length);
      client.socket[leave]();
      await until(() => connections.count === 0);
      assert.deepEqual(told, []);
      assert.equal(client.received().length, 0);
    });
  }
}
