import assert from 'node:assert/strict';
import { connect, createServer } from 'node:net';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { test, type TestContext } from 'node:test';
import { commandHere } from '../../helpers/command-here.ts';
import { writeTemporary } from '../../helpers/config-file.ts';
import { greet, startFake } from '../../helpers/fake-redis.ts';
import { listen } from '../../helpers/listen.ts';
import { durable, startRedisServer } from '../../helpers/redis-server.ts';
import { runCli } from '../../helpers/run-cli.ts';
import { tempFolder } from '../../helpers/temp-folder.ts';

test('a command waits for a Redis that is just started anew, says so, and does its work', async (t) => {
  const redis = await startRedisServer(t, { args: durable });
  const keys = deskOf(t, redis.url);
  assert.equal((await keys(['create', '--plan', 'p', '--id', 'exposed'])).code, 0);
  await redis.stop();
  let started: Promise<void> | undefined;
  const { code, stderr } = await keys(['revoke', 'exposed', '--yes'], (written) => {
    if (written.includes('waiting')) started ??= redis.start();
  });
  await started;
  // On a slow machine it may have to say so before the first attempt has failed.
  assert.match(
    stderr,
    /^gatehouse: waiting for the store \(redis 127\.0\.0\.1:\d+\)(: Redis is not connected: [^\n]+ \(ECONNREFUSED\))?\nKey exposed was revoked/,
  );
  assert.equal(code, 0);
});

test('a command that waits for a Redis that is silent says so while it waits, and where that is', async (t) => {
  const redis = await startRedisServer(t);
  const front = await startFront(t, redis.port);
  const keys = deskOf(t, `redis://:swordfish@127.0.0.1:${front.port}`);
  const { code, stderr } = await keys(['list'], (written) => {
    if (written.includes('waiting')) front.letGo();
  });
  const waiting = `gatehouse: waiting for the store (redis 127.0.0.1:${front.port})`;
  assert.equal(stderr.split('\nThe store has no keys yet')[0], waiting);
  assert.equal(code, 0);
});

test('a command that waits for the lock of a database says so while it waits', async (t) => {
  const path = join(tempFolder(t), 'g.db');
  const keys = deskOf(t, `sqlite:${path}`);
  assert.equal((await keys(['create', '--plan', 'p', '--id', 'exposed'])).code, 0);
  const other = new DatabaseSync(path);
  t.after(() => other.close());
  other.exec('BEGIN IMMEDIATE');
  const letGo = (written: string): void => {
    if (written.includes('waiting') && other.isTransaction) other.exec('ROLLBACK');
  };
  // Whoever waits for a lock stands still meanwhile, and so would the one that holds it here.
  const { code, stderr } = await keys(['revoke', 'exposed', '--yes'], letGo, runCli);
  const [first, second] = stderr.split('\n');
  assert.equal(first, `gatehouse: waiting for the store (sqlite ${path})`);
  assert.match(second ?? '', /^Key exposed was revoked/);
  assert.equal(code, 0);
});

test('a command does not wait for a Redis that does not accept its password', async (t) => {
  const redis = await startRedisServer(t, { args: ['--requirepass', 'right'] });
  const startedAt = performance.now();
  const { code, stderr } = await deskOf(t, redis.url.replace('//', '//:wrong@'))(['list']);
  assert.match(
    stderr,
    /^gatehouse: the store cannot be used: [^\n]+ does not accept the user or password\n$/,
  );
  assert.equal(code, 74);
  assert.ok(performance.now() - startedAt < 9000);
});

test('of what may have been done all the same only those are told who would have changed something', async (t) => {
  const keys = deskOf(t, `redis://127.0.0.1:${await startFake(t, greet)}`);
  const unknown = 'gatehouse: the store cannot be used: Redis answered with something that is not known';
  assert.equal((await keys(['list'])).stderr, `${unknown}\n`);
  const created = await keys(['create', '--plan', 'p']);
  assert.equal(
    created.stderr,
    `${unknown} (it may have been done all the same, look before you repeat it)\n`,
  );
});

test('no command that only reads says that something may have been done all the same', async (t) => {
  const connects = /^(?:info|client|ping)$/;
  const port = await startFake(t, (command, socket) => {
    if (connects.test(command)) greet(command, socket);
    else socket.destroy();
  });
  const file = fileWith(t, `redis://127.0.0.1:${port}`);
  const closed = 'gatehouse: the store cannot be used: Redis closed the connection\n';
  const reading = ['keys list', 'keys audit', 'keys show k', 'keys export', 'keys verify', 'usage show k'];
  for (const words of reading) {
    const { code, stderr } = await commandHere([...words.split(' '), '--config', file], 'a-secret\n');
    assert.deepEqual([code, stderr], [74, closed], words);
  }
});

/** Runs `keys` with a store. */
function deskOf(t: TestContext, store: string) {
  const file = fileWith(t, store);
  return (
    words: readonly string[],
    onStderr?: (written: string) => void,
    run: typeof commandHere | typeof runCli = commandHere,
  ) => run(['keys', ...words, '--config', file], '', onStderr);
}

/** A configuration with this store. */
function fileWith(t: TestContext, store: string): string {
  const config = {
    store,
    plans: { p: {} },
    upstreams: { a: { targets: ['http://127.0.0.1:9'] } },
    routes: [{ path: '/v1/name', methods: ['GET'], upstream: 'a' }],
  };
  return writeTemporary(t, JSON.stringify(config));
}

/** Stands before a server, and holds what is sent to it. */
async function startFront(t: TestContext, port: number) {
  const { promise: held, resolve: letGo } = Promise.withResolvers<void>();
  const server = createServer((client) => {
    const behind = connect(port, '127.0.0.1');
    for (const end of [client, behind]) end.on('error', () => undefined);
    void held.then(() => client.pipe(behind).pipe(client));
  });
  return { port: await listen(t, server), letGo };
}
