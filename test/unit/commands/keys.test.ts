import assert from 'node:assert/strict';
import { execFileSync, spawn, spawnSync } from 'node:child_process';
import { closeSync, constants, existsSync, openSync, writeFileSync } from 'node:fs';
import { userInfo } from 'node:os';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import { lifetime } from '../../../src/quota/periods.ts';
import { openStore } from '../../../src/stores/open-store.ts';
import { commandHere } from '../../helpers/command-here.ts';
import { writeTemporary } from '../../helpers/config-file.ts';
import { aDraw } from '../../helpers/ledger-orders.ts';
import { openFiles } from '../../helpers/open-files.ts';
import { until } from '../../helpers/poll.ts';
import { startRedisServer } from '../../helpers/redis-server.ts';
import { main, runOf } from '../../helpers/run-cli.ts';
import { demoKey, type Yaml } from '../../helpers/start-gateway.ts';
import { tempFolder } from '../../helpers/temp-folder.ts';

test('no store is made for a key that cannot be one', async (t) => {
  const { run, store } = withoutStore(t);
  const mistakes = [
    [[], 64, /^gatehouse: --plan is needed, choose from free, paid\n$/],
    [['--plan', 'fre'], 64, /^gatehouse: --plan is not among the plans/],
    [['--plan', 'free', '--expires', 'soon'], 64, /^gatehouse: --expires is not a date/],
    [
      ['--plan', 'free', '--not-before', '2d', '--expires', '1d'],
      64,
      /^gatehouse: --expires must be after the moment from which the key is valid\n$/,
    ],
    [['--plan', 'free', '--id', 'a b'], 64, /^gatehouse: --id is not an id/],
    [
      ['--plan', 'free', '--id', 'demo'],
      1,
      /^gatehouse: a key of this id stands in the configuration file\n$/,
    ],
  ] as const;
  const runs = await Promise.all(mistakes.map(([flags]) => run('create', ...flags)));
  for (const [at, [, code, sentence]] of mistakes.entries()) {
    assert.match(runs[at]!.stderr, sentence);
    assert.equal(runs[at]!.code, code);
  }
  assert.equal(existsSync(store), false);
});

test('no store is made for an import of what cannot be read, and the reason is told in words', async (t) => {
  const { file, run, store } = withoutStore(t);
  const [missing, plan] = await Promise.all([
    run('import', 'no-such-file'),
    run('import', '-', '--plan', 'fre'),
  ]);
  assert.equal(
    missing.stderr,
    `gatehouse: the file to import, seen from ${process.cwd()}, cannot be read: there is no such file\n`,
  );
  assert.equal(missing.code, 66);
  assert.match(plan.stderr, /^gatehouse: --plan is not among the plans/);
  const directory = await run('import', tempFolder(t));
  assert.equal(directory.stderr, 'gatehouse: the file to import cannot be read: it is a directory\n');
  assert.equal(directory.code, 66);
  const command = `${process.execPath} ${main} keys import - --config ${file} < .`;
  const onStdin = spawnSync('sh', ['-c', command], { encoding: 'utf8' });
  assert.equal(onStdin.stderr, 'gatehouse: standard input cannot be read: it is a directory\n');
  assert.equal(onStdin.status, 66);
  assert.equal(existsSync(store), false);
});

test('a key whose plan or quota is not in the configuration any more is told of when it is looked at', async (t) => {
  const { run, cli, by } = withoutStore(t);
  const monthly = [{ name: 'monthly', limit: 9, per: 'month' }];
  const before = by({ plans: { old: {}, free: { quotas: monthly } } });
  await before.run('create', '--id', 'a', '--plan', 'old');
  const quotas = ['--quota', 'monthly=5', '--quota', 'daily=3/day'];
  await before.run('create', '--id', 'b', '--plan', 'free', ...quotas);
  assert.equal((await before.run('show', 'b')).stderr, '');
  const [a, b] = await Promise.all([run('show', 'a'), run('show', 'b')]);
  assert.deepEqual([a.code, b.code], [0, 0]);
  assert.match(a.stdout, /^scopes +every route\nnetworks +from anywhere$/m);
  assert.equal(
    a.stderr,
    'gatehouse: warning: the configuration has no plan old, so requests with this key are answered 500\n',
  );
  assert.equal(
    b.stderr,
    'gatehouse: warning: plan free has no quota monthly, so that of the key counts for its lifetime\n',
  );
  const usage = await cli('usage', 'show');
  assert.match(usage.stdout, /^a +old +no such plan$/m);
  assert.match(usage.stdout, /^demo +free +none$/m);
});

test('who ends a key in the store is told of the one in the file that goes on working', async (t) => {
  const { run, by } = withoutStore(t);
  for (const id of ['demo', 'other']) {
    const made = await by({ keys: [] }).run('create', '--plan', 'free', '--id', id);
    assert.ok(made.stderr.includes(`Key ${id} was made on plan free.\n`), made.stderr);
  }
  const warning =
    'warning: the configuration file has a key demo as well, which goes on working until it is taken out there\n';
  for (const action of ['disable', 'revoke']) {
    assert.equal((await run(action, 'demo', '--yes')).stderr, `${warning}Key demo was ${action}d.\n`);
    assert.equal((await run(action, 'other', '--yes')).stderr, `Key other was ${action}d.\n`);
  }
});

test('a list that is empty says why', async (t) => {
  const { run, cli } = withoutStore(t);
  await run('create', '--plan', 'free', '--id', 'k1');
  await run('revoke', 'k1', '--yes');
  const lists = [
    [
      ['keys', 'list'],
      'The store has no keys yet, or only revoked ones. Make one with: gatehouse keys create\n',
    ],
    [['keys', 'list', '--plan', 'free'], 'No key fits.\n'],
    [['keys', 'list', '--json'], ''],
    [['keys', 'list', '--cursor', 'z'], 'Nothing comes after this cursor.\n'],
    [['usage', 'show', '--cursor', 'z'], 'Nothing comes after this cursor.\n'],
    [['keys', 'audit', '--cursor', '1-1'], 'Nothing comes after this cursor.\n'],
    [['keys', 'audit', '--key', 'k2'], 'No change of this key is known.\n'],
  ] as const;
  const runs = await Promise.all(lists.map(([words]) => cli(...words)));
  assert.deepEqual(
    runs.map(({ code, stdout, stderr }) => [code, stdout, stderr]),
    lists.map(([, says]) => [0, '', says]),
  );
  const bare = withoutStore(t, { keys: [] });
  await (await openStore({ kind: 'sqlite', path: bare.store })).close();
  assert.equal((await bare.run('audit')).stderr, 'Nothing was changed yet.\n');
  assert.equal(
    (await bare.cli('usage', 'show')).stderr,
    'There is no key. Make one with: gatehouse keys create\n',
  );
});

const more = (cursor: string): string => `There may be more: add --all, or --cursor ${cursor}\n`;

test('a long list comes in parts, each of which says where the next begins, or whole', async (t) => {
  const { run, cli, feed } = withoutStore(t);
  const ids = Array.from({ length: 501 }, (_, at) => `k${String(at).padStart(3, '0')}`);
  const lines = ids.map((id) => JSON.stringify({ id, plan: 'free', secret: `the-secret-of-${id}` }));
  await feed(lines.join('\n'), 'import', '-');
  const list = async (...flags: readonly string[]) => {
    const { code, stdout, stderr } = await run('list', '--quiet', ...flags);
    return [code, stdout.trim().split('\n'), stderr];
  };
  assert.deepEqual(await list('--limit', '2'), [0, ids.slice(0, 2), more('k001')]);
  assert.deepEqual(await list('--limit', '2', '--cursor', 'k001'), [0, ids.slice(2, 4), more('k003')]);
  assert.deepEqual(await list('--cursor', 'k498'), [0, ids.slice(499), '']);
  assert.deepEqual(await list(), [0, ids.slice(0, 50), more('k049')]);
  assert.deepEqual(await list('--all'), [0, ids, '']);
  assert.deepEqual(await list('--limit', '501'), [0, ids, more('k500')]);
  const table = (await run('list', '--all')).stdout.trim().split('\n');
  assert.deepEqual(
    table.map((row) => row.split(' ', 1)[0]),
    ['ID', ...ids],
    'the heading stands once',
  );
  const usage = await cli('usage', 'show', '--all', '--json');
  assert.equal(usage.stdout.trim().split('\n').length, 1 + ids.length);
  const exported = (await run('export')).stdout.trim().split('\n');
  assert.deepEqual(
    exported.map((line) => (JSON.parse(line) as { id: string }).id),
    ids,
  );
});

test('rows of a later page stand under the heading, which the first page has alone', async (t) => {
  const keys = [{ id: 'of-the-file', plan: 'free', secret: 'the-secret-of-this-file' }];
  const { run, cli } = withoutStore(t, { keys });
  for (const id of ['a', 'b', 'c']) await run('create', '--plan', 'free', '--id', id);
  for (const id of ['a', 'b']) await run('revoke', id, '--yes');
  const { stdout } = await cli('usage', 'show', '--limit', '2');
  assert.equal(
    stdout,
    'KEY          PLAN  QUOTA  LIMIT  USED  LEASED  REMAINING  RESETS\nof-the-file  free  none\nc            free  none\n',
  );
});

test('a list has the keys that its flags ask for, and no others', async (t) => {
  const { run } = withoutStore(t);
  for (const [id, ...flags] of [
    ['a', '--plan', 'free', '--name', 'build server', '--owner', 'acme', '--label', 'team=x'],
    ['b', '--plan', 'paid', '--name', 'build', '--label', 'team=x', '--label', 'stage=live'],
    ['c', '--plan', 'free', '--name', 'test', '--owner', 'acme', '--label', 'stage=test'],
    ['d', '--plan', 'paid', '--owner', 'other'],
  ])
    await run('create', '--id', String(id), ...flags);
  await run('disable', 'c', '--yes');
  await run('revoke', 'd', '--yes');
  for (const [flags, ids] of [
    [[], 'abc'],
    [['--plan', 'free'], 'ac'],
    [['--owner', 'acme'], 'ac'],
    [['--name', 'build'], 'ab'],
    [['--label', 'team=x'], 'ab'],
    [['--label', 'team', '--label', 'stage=live'], 'b'],
    [['--enabled'], 'ab'],
    [['--disabled'], 'c'],
    [['--revoked'], 'd'],
    [['--plan', 'free', '--enabled'], 'a'],
  ] as const) {
    const { stdout } = await run('list', '--quiet', ...flags);
    assert.equal(stdout.replaceAll('\n', ''), ids, flags.join(' '));
  }
  const ofC = (await run('audit', '--key', 'c', '--json')).stdout.trim().split('\n');
  assert.deepEqual(
    ofC.map((line) => {
      const { action, keyId, actor } = JSON.parse(line) as Record<string, string>;
      return [action, keyId, actor];
    }),
    [
      ['disable', 'c', `cli:${userInfo().username}`],
      ['create', 'c', `cli:${userInfo().username}`],
    ],
  );
});

test('flags that contradict each other are refused', async (t) => {
  const { run } = withoutStore(t);
  for (const words of [
    ['create', '--plan', 'free', '--json', '--quiet'],
    ['rotate', 'k1', '--now', '--json', '--quiet'],
    ['list', '--enabled', '--disabled'],
  ]) {
    const { code, stderr } = await run(...words);
    assert.equal(code, 64);
    assert.match(stderr, /^error: option '.*' cannot be used with option '/);
  }
});

test('of a key of certain networks it is said that they are not checked without an address', async (t) => {
  const { run, feed } = withoutStore(t);
  const unchecked = /\nits networks are not checked without --from\n$/;
  for (const [flags, from, says] of [
    [['--network', '10.0.0.0/8'], [], true],
    [['--network', '10.0.0.0/8'], ['--from', '10.1.2.3'], false],
    [[], [], false],
  ] as const) {
    const { stdout: secret } = await run('create', '--plan', 'free', '--quiet', ...flags);
    const { stdout } = await feed(secret, 'verify', ...from);
    assert.match(stdout, /^valid: /);
    assert.equal(unchecked.test(stdout), says);
  }
  const { stdout: secret } = await run('create', '--plan', 'free', '--quiet', '--network', '10.0.0.0/8');
  const elsewhere = await feed(secret, 'verify', '--from', '11.1.2.3');
  assert.match(elsewhere.stdout, /^refused: .*: it may not be used from this address\n/);
});

test('what the gateway would say to a key is said, with a code for scripts', async (t) => {
  const { run, feed } = withoutStore(t);
  const { stdout: secret } = await run('create', '--plan', 'free', '--id', 'k1', '--quiet');
  for (const [flags, input, code, says] of [
    [['--path', '/v1/name'], secret, 0, /^valid: key k1, plan free: it is in order\n$/],
    [
      ['--path', '/v1/name', '--method', 'POST'],
      secret,
      1,
      /^refused: key k1, plan free: the request is not allowed\nthe gateway answers 405 {.*}\n$/,
    ],
    [[], 'nothing', 1, /^refused: no key has this secret\nthe gateway answers 401 {.*}\n$/],
    [[], `\uFEFF${secret}`, 1, /^refused: no key has this secret\n/],
    [[], '', 1, /^refused: no key was given\nthe gateway answers 401 {.*}\n$/],
    [['--quiet'], secret, 0, /^$/],
    [['--quiet'], 'nothing', 1, /^$/],
    // Said before the key is read: somebody may type it.
    [['--from', '10.1.2'], 'x'.repeat(16 * 1024 + 1), 64, /^gatehouse: --from is not an IP address\n$/],
    [['--json'], secret, 0, /"reason": "good",[^]*"id": "k1",[^]*"answer": null\n}\n$/],
    [['--json'], 'nothing', 1, /"reason": "unknown",[^]*"answer": "401 {.*}"\n}\n$/],
    [[], 'x'.repeat(16 * 1024 + 1), 64, /^gatehouse: standard input holds more than a key/],
  ] as const) {
    const { stdout, stderr, ...ended } = await feed(input, 'verify', ...flags);
    assert.match(stdout + stderr, says);
    assert.equal(ended.code, code);
  }
});

test('a rotation needs one word on the secret before it, and an update something to change', async (t) => {
  const { run } = withoutStore(t);
  await run('create', '--plan', 'free', '--id', 'k1');
  const oneOf = 'say --overlap 24h to keep the old secret for a while, or --now to end it at once';
  for (const [words, says] of [
    [['rotate', 'k1'], oneOf],
    [['rotate', 'k1', '--now', '--overlap', '1h'], oneOf],
    [['rotate', 'k1', '--overlap', '0s'], '--overlap is no time at all, say --now instead'],
    [['rotate', 'k1', '--overlap', 'soon'], '--overlap is not a duration, write 30m, 24h or 7d'],
    [['update', 'k1'], 'nothing to change was given, see gatehouse keys update --help'],
  ] as const) {
    const { code, stdout, stderr } = await run(...words);
    assert.deepEqual([code, stdout, stderr], [64, '', `gatehouse: ${says}\n`]);
  }
  const { secrets } = JSON.parse((await run('show', 'k1', '--json')).stdout) as { secrets: unknown[] };
  assert.equal(secrets.length, 1);
});

test('on a terminal people are asked before a key or its secrets are ended, by its name, and nothing is done without a yes', async (t) => {
  const { run, feed } = withoutStore(t);
  await run('create', '--plan', 'free', '--id', 'k1', '--name', 'build');
  const type = async (typed: string, ...words: readonly string[]) => {
    const { code, stderr } = await feed({ typed }, ...words);
    return [code, stderr];
  };
  const nothing = 'Nothing was changed.\n';
  const ends = 'Key k1 (build) stops working within a second';
  const revokes = `${ends} and can never be used again. Go on? [y/N] `;
  const disables = `${ends}, until it is enabled. Go on? [y/N] `;
  const rotates = 'The secrets of k1 (build) stop working at once. Go on? [y/N] ';
  assert.deepEqual(await type('n\n', 'revoke', 'k1'), [1, revokes + nothing]);
  assert.deepEqual(await type('', 'disable', 'k1'), [1, `${disables}\n${nothing}`]);
  assert.deepEqual(await type('\n', 'rotate', 'k1', '--now'), [1, rotates + nothing]);
  assert.match((await run('show', 'k1')).stdout, /^state +good\n[^]*^version +1\n/m);
  assert.deepEqual(await type('y\n', 'disable', 'k1'), [0, `${disables}Key k1 was disabled.\n`]);
  assert.deepEqual(await type('Yes\n', 'revoke', 'k1'), [0, `${revokes}Key k1 was revoked.\n`]);
  for (const words of [['disable', 'k1'] as const, ['rotate', 'k1', '--now'] as const])
    assert.deepEqual(await type('y\n', ...words), [1, 'gatehouse: the key was revoked\n'], 'nobody is asked');
});

test('a change of a key is made, and told in the form that was asked for, or not at all', async (t) => {
  const { run, feed } = withoutStore(t);
  const before = (await run('create', '--plan', 'free', '--id', 'k1', '--quiet')).stdout;
  const updated = await run('update', 'k1', '--plan', 'paid', '--owner', 'acme');
  assert.match(updated.stdout, /^owner +acme\nstate +good\nplan +paid\n/m);
  for (const [words, stdout, stderr] of [
    [['update', 'k1', '--clear', 'owner', '--json'], /"owner": "",\n[^]*"plan": "paid"/, ''],
    [['update', 'k1', '--name', 'build', '--quiet'], /^$/, ''],
    [['disable', 'k1', '--yes', '--json'], /"name": "build"[^]*"state": "disabled"/, ''],
    [['enable', 'k1'], /^$/, 'Key k1 was enabled.\n'],
    [['disable', 'k1', '--yes', '--quiet'], /^$/, ''],
    [['enable', 'k1', '--json'], /"state": "good"/, ''],
    [['update', 'k1', '--expires', '90d', '--quiet'], /^$/, ''],
    [['update', 'k1', '--expires', 'never', '--json'], /"expiresAt": null/, ''],
    [['rotate', 'k1', '--now', '--yes', '--json'], /"secret": "gh_/, ''],
  ] as const) {
    const ended = await run(...words);
    assert.match(ended.stdout, stdout);
    assert.deepEqual([ended.code, ended.stderr], [0, stderr], words.join(' '));
  }
  for (const unknown of [await run('revoke', 'k2'), await run('rotate', 'k2', '--now')])
    assert.deepEqual(
      [unknown.code, unknown.stderr],
      [1, 'gatehouse: there is no such key\n'],
      'nobody is asked',
    );
  const rotated = await run('rotate', 'k1', '--now', '--yes');
  assert.match(rotated.stderr, /^Key k1 has a new secret\. Its earlier secrets no longer work\.\n/);
  for (const [secret, code] of [
    [rotated.stdout, 0],
    [before, 1],
  ] as const)
    assert.equal((await feed(secret, 'verify', '--quiet')).code, code);
  await run('disable', 'k1', '--yes');
  const idle = await run('rotate', 'k1', '--overlap', '1h');
  assert.match(idle.stderr, /^Key k1 has a new secret, but works for nobody: it is disabled\. Its earlier/);
});

test('an import of nothing has failed, and says so', async (t) => {
  const { feed } = withoutStore(t);
  for (const input of ['', '\n', 'secret,plan\n']) {
    const { code, stdout, stderr } = await feed(input, 'import', '-');
    assert.match(stdout, /^0 lines/);
    assert.match(stderr, /gatehouse: there was no key to import\n$/);
    assert.equal(code, 1);
  }
});

test('what stands before the place where a file can no longer be read is imported, and counted', async (t) => {
  const { feed } = withoutStore(t);
  const { code, stdout, stderr } = await feed(unreadable(), 'import', '-');
  assert.equal(stdout, '2 lines: 1 added, 0 updated, 0 skipped, 1 refused\n');
  assert.match(stderr, /\ngatehouse: standard input cannot be read: the system says EIO\n$/);
  assert.equal(code, 66);
});

test('an import that its store has left says how far it came', async (t) => {
  const redis = await startRedisServer(t);
  const { feed } = withoutStore(t, { store: redis.url });
  async function* lines(): AsyncGenerator<Uint8Array> {
    yield Buffer.from('secret,plan\n');
    yield aBatch('early');
    await until(async () => Number((await redis.say('DBSIZE')).slice(1)) >= 250);
    await redis.say('CONFIG', 'SET', 'maxmemory', 1);
    yield aBatch('late');
  }
  const { code, stdout, stderr } = await feed(lines(), 'import', '-');
  assert.equal(stdout, '500 lines: 250 added, 0 updated, 0 skipped, 0 refused\n');
  assert.match(
    stderr,
    /^Run it again to go on: [^\n]+\ngatehouse: the store cannot be used: [^\n]+maxmemory/m,
  );
  assert.equal(code, 74);
});

test('Ctrl-C at the question for a key ends a verify without a verdict', async (t) => {
  const { run, feed } = withoutStore(t);
  await run('create', '--plan', 'free');
  const { code, stdout } = await feed({ typed: 's3c\u0003' }, 'verify');
  assert.equal(stdout, '');
  assert.equal(code, 130);
});

test('an import that Ctrl-C ends takes over what it has read, and says how far it came', async (t) => {
  const redis = await startRedisServer(t);
  // On a machine that is busy Redis may take a while.
  const { file } = withoutStore(t, { store: redis.url, storeDeadline: '10s' });
  const long = join(tempFolder(t), 'long.csv');
  const many = Array.from({ length: 200 }, (_, at) => aBatch(`late-${at}`));
  writeFileSync(long, Buffer.concat([Buffer.from('secret,plan\n'), ...many]));
  const early = `secret,plan\n${aBatch('early').toString()}a-late-foreign-secret,free\n`;
  async function breakOff(source: string, input: string, last: () => Promise<unknown>) {
    const words = [main, 'keys', 'import', source, '--config', file];
    const child = spawn(process.execPath, words, { stdio: 'pipe', timeout: 60_000 });
    // It is not ended, as on a terminal.
    child.stdin.write(input);
    const run = runOf(child);
    await until(async () => Number((await redis.say('DBSIZE')).slice(1)) >= 250);
    await redis.say('CLIENT', 'PAUSE', 60_000, 'WRITE');
    child.kill('SIGINT');
    // What the terminal has said npm says once more, a moment later.
    await redis.say('PING');
    child.kill('SIGINT');
    // Its last lines are on their way.
    await until(async () => / flags=b /.test(await redis.say('CLIENT', 'LIST')));
    await last();
    const { code, stdout, stderr } = await run;
    assert.match(stderr, /^Run it again to go on: what is there already is passed over\.\n/m);
    return { code, stdout, stderr };
  }
  async function goOn(): Promise<void> {
    await redis.say('CLIENT', 'UNPAUSE');
  }
  const piped = await breakOff('-', early, goOn);
  assert.equal(piped.code, 130);
  assert.equal(piped.stdout, '251 lines: 251 added, 0 updated, 0 skipped, 0 refused\n');
  await redis.say('FLUSHALL');
  const read = await breakOff(long, '', goOn);
  assert.equal(read.code, 130);
  assert.match(read.stdout, /^(\d{1,5}) lines: \1 added, 0 updated, 0 skipped, 0 refused\n$/);
  await redis.say('FLUSHALL');
  const lost = await breakOff('-', early, () => redis.stop());
  assert.equal(lost.code, 74, 'the store went, too, and that is what is told');
  assert.match(lost.stderr, /^gatehouse: .*Redis/m);
});

test('Ctrl-C ends an import from a FIFO that nobody writes to', async (t) => {
  const fifo = join(tempFolder(t), 'keys');
  execFileSync('mkfifo', [fifo]);
  const listeners = process.listenerCount('SIGINT');
  const { run } = withoutStore(t);
  let ended: Awaited<ReturnType<typeof run>> | undefined;
  void run('import', fifo).then((it) => (ended = it));
  try {
    await until(() => process.listenerCount('SIGINT') > listeners);
    process.emit('SIGINT');
    const { code, stdout } = await until(() => ended);
    assert.equal(stdout, '0 lines: 0 added, 0 updated, 0 skipped, 0 refused\n');
    assert.equal(code, 130);
  } finally {
    closeSync(openSync(fifo, constants.O_RDWR)); // lets go of what waits for a writer
  }
});

test('Ctrl-C ends an import from a FIFO whose writer says nothing', async (t) => {
  const { file } = withoutStore(t);
  const fifo = join(tempFolder(t), 'keys');
  execFileSync('mkfifo', [fifo]);
  const silent = openSync(fifo, constants.O_RDWR);
  t.after(() => closeSync(silent));
  const words = [main, 'keys', 'import', fifo, '--config', file];
  const child = spawn(process.execPath, words, { stdio: 'pipe', timeout: 20_000, killSignal: 'SIGKILL' });
  const run = runOf(child);
  await until(() => [...openFiles(child.pid).values()].includes(fifo));
  child.kill('SIGINT');
  const { code, stdout, stderr } = await run;
  assert.equal(stdout, '0 lines: 0 added, 0 updated, 0 skipped, 0 refused\n');
  assert.match(stderr, /^Run it again to go on: what is there already is passed over\.\n/m);
  assert.equal(code, 130);
});

test('of many lines that are refused as many are named as anybody would read, and the rest counted', async (t) => {
  const { feed, store } = withoutStore(t);
  const { code, stdout, stderr } = await feed('{,\n'.repeat(202), 'import', '-');
  const lines = Array.from(
    { length: 200 },
    (_, at) => `line ${at + 1}: is not a JSON object, or holds a field twice\n`,
  );
  assert.equal(
    stderr,
    `gatehouse: a new store was made at ${store}\n${lines.join('')}… and 2 more refused\n`,
  );
  assert.equal(stdout, '202 lines: 0 added, 0 updated, 0 skipped, 202 refused\n');
  assert.equal(code, 1);
});

test('of many lines that come with a warning as many are named, and the rest counted', async (t) => {
  const { run, feed } = withoutStore(t);
  const line = '{"id":"k1","secret":"a-secret-of-k1-0123456789"}\n';
  await feed(line, 'import', '-', '--plan', 'free');
  await run('revoke', 'k1', '--yes');
  const { code, stdout, stderr } = await feed(line.repeat(203), 'import', '-');
  const warnings = Array.from(
    { length: 200 },
    (_, at) => `line ${at + 1}: warning: the key was revoked, and stays so\n`,
  );
  assert.deepEqual([code, stderr], [0, `${warnings.join('')}… and 3 more warnings\n`]);
  assert.equal(stdout, '203 lines: 0 added, 0 updated, 203 skipped, 0 refused\n');
});

test('a store whose disk is full says so as it is opened', async (t) => {
  const { run, file, store } = withoutStore(t);
  await run('create', '--plan', 'free');
  // No file may become longer than 4 KB, which is less than SQLite needs beside the store.
  const words = ['ulimit -f 8; exec "$@"', 'sh', process.execPath, main, 'keys', 'list', '--config', file];
  const { code, stderr } = await runOf(spawn('sh', ['-c', ...words], { timeout: 60_000 }));
  assert.equal(stderr, `gatehouse: the store cannot be used: cannot open ${store}: there is no room left\n`);
  assert.equal(code, 74);
});

test('usage is set where somebody agrees, and what is left is told', async (t) => {
  const quotas = ['day', 'month'].map((per) => ({ name: per, limit: 9, per }));
  const { run, cli } = withoutStore(t, { plans: { free: { quotas }, paid: {} } });
  const usage = async (...words: readonly string[]) => {
    const { code, stdout, stderr } = await cli('usage', ...words);
    return [code, stdout, stderr];
  };
  const reset = (...flags: readonly string[]) => usage('reset', 'demo', ...flags);
  const set = (quota: string, used: string, ...flags: readonly string[]) =>
    usage('set', 'demo', '--quota', quota, '--used', used, ...flags);
  await run('create', '--plan', 'free');
  const unasked = 'gatehouse: nobody is there to ask, add --yes to go on without asking\n';
  assert.deepEqual(await reset(), [64, '', unasked]);
  assert.deepEqual(await set('day', '3'), [64, '', unasked]);
  for (const [used, left] of [
    ['3', '6 of 9 left'],
    ['3', '6 of 9 left'],
    ['9', 'nothing of 9 left'],
    ['9007199254740991', 'nothing of 9 left'],
  ] as const)
    assert.deepEqual(await set('day', used, '-y'), [0, `day of key demo: ${used} used, ${left}\n`, '']);
  const [, json = ''] = await set('month', '4', '-y', '--json');
  assert.deepEqual(
    JSON.parse(String(json)).quotas.map((quota: object) => ({ ...quota, resetsAt: '' })),
    [{ name: 'month', limit: 9, used: 4, leased: 0, remaining: 5, resetsAt: '' }],
  );
  const shown = async () =>
    JSON.parse(String((await usage('show', 'demo', '--json'))[1])).quotas.map(
      (quota: { used: number }) => quota.used,
    );
  assert.deepEqual(await shown(), [Number.MAX_SAFE_INTEGER, 4]);
  const day = 'day of key demo: 0 used, 9 of 9 left\n';
  assert.deepEqual(await reset('--yes', '--quota', 'day'), [0, day, '']);
  assert.deepEqual(await shown(), [0, 4]);
  assert.deepEqual(await reset('--yes'), [0, `${day}${day.replace('day', 'month')}`, '']);
  assert.deepEqual(await shown(), [0, 0]);
  assert.deepEqual(await set('dya', '3', '-y'), [
    1,
    '',
    'gatehouse: the key has no such quota, did you mean "day"?\n',
  ]);
  const audit = (await run('audit')).stdout;
  assert.match(
    audit,
    / set_usage +demo +day: 0 → 0, month: 4 → 0\n.* day: 9007199254740991 → 0\n.* month: 0 → 4\n/,
  );
  for (const wrong of ['-1', '1.5', '1e3', '9007199254740992', ''])
    assert.equal((await set('day', wrong, '-y'))[0], 64);
  for (const lacks of [
    ['--quota', 'day'],
    ['--used', '3'],
  ])
    assert.match(String((await usage('set', 'demo', ...lacks))[2]), /required option '--(used|quota) /);
});

test('what gateways hold ahead of a quota is told of where it is set', async (t) => {
  const quotas = [{ name: 'life', limit: 9, per: 'lifetime' }];
  const { run, cli, store: path } = withoutStore(t, { plans: { free: { quotas }, paid: {} } });
  await run('create', '--plan', 'free');
  const store = await openStore({ kind: 'sqlite', path });
  const counter = { name: 'life', limit: 9, periodStart: lifetime.start, periodEnd: lifetime.end };
  await store.ledger.draw(aDraw({ keyId: 'demo', counters: [counter], want: 2 }));
  await store.close();
  const { stdout } = await cli('usage', 'set', 'demo', '--quota', 'life', '--used', '3', '-y');
  assert.equal(stdout, 'life of key demo: 3 used, 2 held ahead by gateways, 4 of 9 left\n');
});

test('who is asked whether usage is to be set is told of what, and may say no', async (t) => {
  const quotas = ['day', 'month'].map((per) => ({ name: per, limit: 9, per }));
  const { run, file } = withoutStore(t, { plans: { free: { quotas }, paid: {} } });
  await run('create', '--plan', 'free');
  const asked = async (typed: string, ...words: readonly string[]) => {
    const { code, stdout, stderr } = await commandHere(['usage', ...words, 'demo', '--config', file], {
      typed,
    });
    return [code, stdout, stderr];
  };
  const set = ['set', '--quota', 'day', '--used', '3'];
  const question = 'Set day of key demo to 3 used? [y/N] ';
  assert.deepEqual(await asked('n\n', ...set), [1, '', `${question}Nothing was changed.\n`]);
  assert.deepEqual(await asked('y\n', ...set), [0, 'day of key demo: 3 used, 6 of 9 left\n', question]);
  const both = 'Set day, month of key demo to zero? [y/N] ';
  assert.deepEqual(await asked('n\n', 'reset'), [1, '', `${both}Nothing was changed.\n`]);
});

test('the usage of the periods before is shown, and when they ended', async (t) => {
  const plans = { free: { quotas: [{ name: 'daily', limit: 9, per: 'day' }] } };
  const { run, cli } = withoutStore(t, { plans });
  await run('create', '--plan', 'free');
  const show = async (...words: readonly string[]) =>
    (await cli('usage', 'show', ...words, '--ended')).stdout;
  const midnight = '20[-0-9]{8}T00:00:00';
  assert.match(await show(), new RegExp(`^KEY .* ENDED\ndemo +free +daily +9 +0 +0 +9 +${midnight}Z\n`));
  assert.match(await show('demo'), new RegExp(` ENDED\n.* ${midnight}Z\n$`));
  const { quotas } = JSON.parse(await show('demo', '--json'));
  assert.ok(Date.parse(quotas[0].resetsAt) <= Date.now());
});

test('a file is imported, over the keys that are there where that is asked for, and told in the form that was asked for', async (t) => {
  const { run } = withoutStore(t);
  const file = join(tempFolder(t), 'keys.jsonl');
  const key = { id: 'k1', secret: 'foreign-key-000000001', plan: 'free' };
  writeFileSync(file, JSON.stringify(key));
  await run('import', file, '--quiet');
  writeFileSync(file, `${JSON.stringify({ ...key, plan: 'paid', name: 'new' })}\n{}\n`);
  for (const [flags, code, stdout, stderr] of [
    [[], 1, '2 lines: 0 added, 0 updated, 1 skipped, 1 refused\n', /^line 2: /],
    [['--quiet'], 1, '', /^line 2: /],
    [['--json'], 1, '{"lines":2,"added":0,"updated":0,"skipped":1,"refused":1}\n', /^line 2: /],
    [['--update'], 1, '2 lines: 0 added, 1 updated, 0 skipped, 1 refused\n', /^line 2: /],
  ] as const) {
    const ended = await run('import', file, ...flags);
    assert.deepEqual([ended.code, ended.stdout], [code, stdout]);
    assert.match(ended.stderr, stderr);
  }
  assert.match((await run('show', 'k1')).stdout, /^name +new\n[^]*^plan +paid\n/m);
});

test('the pattern fits the keys that are made here, and others not', async (t) => {
  const { run } = withoutStore(t);
  const { stdout: secret } = await run('create', '--plan', 'free', '--quiet');
  const pattern = new RegExp(`^${(await run('pattern')).stdout.trim()}$`);
  assert.match(secret.trim(), pattern);
  assert.doesNotMatch(secret.trim().replace('gh_', 'hg_'), pattern);
  const lost = await commandHere(['keys', 'pattern', '--config', 'no-such-file']);
  assert.deepEqual([lost.code, lost.stdout], [66, '']);
  assert.match(lost.stderr, /^gatehouse: /);
});

test('an import of one line speaks of one line', async (t) => {
  const { run, feed } = withoutStore(t);
  const { stdout } = await feed('secret\nforeign-key-000000001\n', 'import', '-', '--plan', 'free');
  assert.equal(stdout, '1 line: 1 added, 0 updated, 0 skipped, 0 refused\n');
  assert.match((await run('audit')).stdout, / import +1 key$/m);
});

/** A file with two lines, that can no longer be read in the third. */
async function* unreadable(): AsyncGenerator<Uint8Array> {
  yield Buffer.from('secret,plan\nforeign-key-000000001,free\nforeign-key-000000002,no\nforeign-k');
  throw Object.assign(new Error('EIO: i/o error, read'), { code: 'EIO', syscall: 'read' });
}

/** As many lines as an import takes at once. */
function aBatch(name: string): Buffer {
  return Buffer.from(Array.from({ length: 250 }, (_, at) => `foreign-${name}-key-${at},free\n`).join(''));
}

/** Commands by a configuration with the key demo, whose store is not there yet, and `by` another one with the same store. */
function withoutStore(t: TestContext, over: Yaml = {}) {
  const store = join(tempFolder(t), 'g.db');
  const config = {
    store: `sqlite:${store}`,
    plans: { free: {}, paid: {} },
    keys: [{ id: 'demo', plan: 'free', secret: demoKey }],
    upstreams: { a: { targets: ['http://127.0.0.1:9'] } },
    routes: [{ path: '/v1/name', methods: ['GET'], upstream: 'a' }],
    ...over,
  };
  const commands = (differences: Yaml) => {
    const file = writeTemporary(t, JSON.stringify({ ...config, ...differences }));
    const cli = (...words: readonly string[]) => commandHere([...words, '--config', file]);
    return {
      file,
      cli,
      run: (...words: readonly string[]) => cli('keys', ...words),
      /** The same with something on standard input. */
      feed: (input: Parameters<typeof commandHere>[1], ...words: readonly string[]) =>
        commandHere(['keys', ...words, '--config', file], input),
    };
  };
  return { store, ...commands({}), by: commands };
}
