import assert from 'node:assert/strict';
import type { Socket } from 'node:net';
import { after, test } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { until } from '../helpers/poll.ts';
import { openRaw } from '../helpers/raw-socket.ts';
import { startRedisServer } from '../helpers/redis-server.ts';
import { startGateway } from '../helpers/start-gateway.ts';
import { startTcpProxy } from '../helpers/tcp-proxy.ts';

/** Since 26.0 Node hands an upgrade whose body is still to come over as a stream of its own, and not as the socket. */

const scene = { after };
const redis = await startRedisServer(scene);
const proxy = await startTcpProxy(scene, redis.port);
const gateway = await startGateway(scene, {
  store: `redis://127.0.0.1:${proxy.port}`,
  storeDeadline: '5s',
  routes: [{ path: '/v1/live', methods: ['GET'], upgrade: 'websocket' }],
});

const bodies = {
  'no body': '\r\n',
  'a body that is there': 'Content-Length: 5\r\n\r\nhello',
  'a body of which nothing comes': 'Content-Length: 5\r\n\r\n',
  'a body that breaks off': 'Content-Length: 5\r\n\r\nhel',
  'a body in chunks that is there': 'Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n',
  'a body in chunks that breaks off': 'Transfer-Encoding: chunked\r\n\r\n5\r\nhel',
  'a body that makes no sense': 'Transfer-Encoding: chunked\r\n\r\nx',
};
const leavings = {
  ends: (socket: Socket) => socket.end(),
  'is reset': (socket: Socket) => socket.resetAndDestroy(),
};

/** A key that nobody has asked for yet, so that the store is asked. */
let keys = 0;
const nextKey = (): string => `unknown-${(keys += 1)}`;

function upgrade(version: string, key: string, rest: string): string {
  return `GET /v1/live HTTP/${version}\r\nHost: a\r\napiKey: ${key}\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n${rest}`;
}

for (const [how, leave] of Object.entries(leavings)) {
  for (const version of ['1.0', '1.1']) {
    test(`an upgrade of HTTP/${version} that ${how} while its key is looked up ends itself and nothing else`, async (t) => {
      proxy.answers = { lateByMs: 200 };
      t.after(() => (proxy.answers = 'pass'));
      const told = linesSoFar();
      const raws = await Promise.all(Object.keys(bodies).map(() => openRaw(t, gateway.port)));
      const rests = Object.values(bodies);
      raws.forEach((raw, i) => raw.write(upgrade(version, nextKey(), rests[i] ?? '')));
      await pause(50);
      for (const { socket } of raws) leave(socket);
      await until(() => linesSoFar() === told + raws.length);
      await until(async () => (await gateway.inFlight()) === 0);
      const faults = gateway.logs().filter(({ level }) => level === 'fatal' || level === 'error');
      assert.deepEqual(faults, []);
    });
  }
}

function linesSoFar(): number {
  return gateway.logs().filter((line) => 'status' in line).length;
}
