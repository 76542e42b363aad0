import assert from 'node:assert/strict';
import { connect, createServer } from 'node:net';
import { test, type TestContext } from 'node:test';
import { writeTemporary } from '../../helpers/config-file.ts';
import { listen } from '../../helpers/listen.ts';
import { until } from '../../helpers/poll.ts';
import { startRedisServer } from '../../helpers/redis-server.ts';
import { runCli } from '../../helpers/run-cli.ts';

test('a command waits for a Redis that is just started anew, says so, and does its work', async (t) => {
  const redis = await startRedisServer(t);
  const front = await startFront(t, redis.port);
  const keys = deskOf(t, `redis://127.0.0.1:${front.port}`);
  assert.equal((await keys('create', '--plan', 'p', '--id', 'exposed')).code, 0);

  front.isAway = true;
  let isOver = false;
  const revoked = keys('revoke', 'exposed', '--yes').finally(() => (isOver = true));
  // So many attempts take two seconds.
  await until(() => isOver || front.turnedAway >= 14);
  front.isAway = false;
  const { code, stderr } = await revoked;
  assert.match(
    stderr,
    /^gatehouse: waiting for the store: Redis is not connected: [^\n]+\nKey exposed was revoked/,
  );
  assert.equal(code, 0);
});

test('a command does not wait for a Redis that does not accept its password', async (t) => {
  const redis = await startRedisServer(t, { args: ['--requirepass', 'right'] });
  const startedAt = performance.now();
  const { code, stderr } = await deskOf(t, redis.url.replace('//', '//:wrong@'))('list');
  assert.match(
    stderr,
    /^gatehouse: the store cannot be used: [^\n]+ does not accept the user or password\n$/,
  );
  assert.equal(code, 74);
  assert.ok(performance.now() - startedAt < 9000);
});

/** Runs `keys` with a store. */
function deskOf(t: TestContext, store: string) {
  const config = {
    store,
    plans: { p: {} },
    upstreams: { a: { targets: ['http://127.0.0.1:9'] } },
    routes: [{ path: '/v1/name', methods: ['GET'], upstream: 'a' }],
  };
  const file = writeTemporary(t, JSON.stringify(config));
  return (...words: readonly string[]) => runCli(['keys', ...words, '--config', file]);
}

/** Stands before a server as what leads to it does: while that is away, connections are closed at once. */
async function startFront(t: TestContext, port: number) {
  const front = { port: 0, isAway: false, turnedAway: 0 };
  const server = createServer((client) => {
    if (front.isAway) {
      front.turnedAway += 1;
      client.destroy();
      return;
    }
    const behind = connect(port, '127.0.0.1');
    for (const end of [client, behind]) end.on('error', () => undefined);
    client.pipe(behind).pipe(client);
  });
  front.port = await listen(t, server);
  return front;
}
