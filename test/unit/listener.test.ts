import assert from 'node:assert/strict';
import type { IncomingMessage } from 'node:http';
import { test } from 'node:test';
import { BodyMemory } from '../../src/bodies/body-memory.ts';
import { takeArrived } from '../../src/bodies/collect-body.ts';
import { Connections } from '../../src/connections.ts';
import { listen } from '../../src/listener.ts';
import { createWording } from '../../src/refusals.ts';
import { Visit } from '../../src/visit.ts';
import { collectGarbage } from '../helpers/collect-garbage.ts';
import { until } from '../helpers/poll.ts';
import { openRaw, requestBytes } from '../helpers/raw-socket.ts';

const minute = 60_000;
const limits = {
  connections: 10,
  inFlight: 10,
  inFlightPerConnection: 10,
  headerBytes: 16_384,
  headerCount: 100,
  headerTimeoutMs: minute,
  requestTimeoutMs: minute,
  keepAliveMs: minute,
  stalledReaderMs: minute,
  bodyMemory: 1024,
};

test('an idle connection does not keep the request that was answered on it', async (t) => {
  const connections = new Connections(limits);
  const memory = new BodyMemory(limits.bodyMemory);
  const requests: WeakRef<IncomingMessage>[] = [];
  const listener = await listen({
    address: { host: '127.0.0.1', port: 0 },
    sharesPort: false,
    limits,
    connections,
    messages: {},
    wording: createWording(new Map()),
    unreadable: ({ cause }) => assert.fail(String(cause)),
    handle: (req, res) => {
      req.visit = new Visit('id', { peer: '127.0.0.1', client: '127.0.0.1', trusted: false });
      connections.enter(req, res);
      requests.push(new WeakRef(req));
      // As soon as all of the body is there, which is before Node has read on to its end.
      queueMicrotask(() => res.end(takeArrived(req, 4, memory)));
    },
  });
  t.after(() => listener.close(0));

  const client = await openRaw(t, listener.address.port);
  client.write(requestBytes('POST /', [], 'mine'));
  const [answer] = await client.responses(1);
  assert.equal(answer?.body.toString(), 'mine');

  await until(() => {
    collectGarbage();
    return requests[0]?.deref() === undefined;
  });
  assert.equal(client.closed, false);
});
