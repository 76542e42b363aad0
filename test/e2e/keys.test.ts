import assert from 'node:assert/strict';
import { randomBytes, randomUUID } from 'node:crypto';
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, describe, test } from 'node:test';
import { stringify } from 'yaml';
import { loadConfig } from '../../src/config/load-config.ts';
import type { ImportLine } from '../../src/keys/imports/import-keys.ts';
import { createKeyBook, type KeyBook } from '../../src/keys/key-book.ts';
import { createKeyRules } from '../../src/keys/key-rules.ts';
import type { Verdict } from '../../src/keys/verify-key.ts';
import { openStore } from '../../src/stores/open-store.ts';
import { digestOf } from '../helpers/a-key.ts';
import { commandHere } from '../helpers/command-here.ts';
import { until, type Scene } from '../helpers/poll.ts';
import { exchange, requestBytes } from '../helpers/raw-socket.ts';
import { startRecordingUpstream } from '../helpers/recording-upstream.ts';
import { startRedisServer } from '../helpers/redis-server.ts';
import { runCli } from '../helpers/run-cli.ts';
import { spoilKey } from '../helpers/spoil-key.ts';
import {
  baseConfig,
  demoKey,
  namePath,
  startGateway,
  type Gateway,
  type Yaml,
} from '../helpers/start-gateway.ts';
import { startTcpProxy } from '../helpers/tcp-proxy.ts';
import { tempFolder } from '../helpers/temp-folder.ts';

const upstream = await startRecordingUpstream({ after });
const redis = await startRedisServer({ after });
const by = { actor: 'test' };
const streamedPath = '/v1/recordings';
const yaml: Yaml = {
  plans: { free: {}, paid: {}, metered: { quotas: [{ name: 'monthly', limit: 9, per: 'month' }] } },
  routes: [
    { path: namePath, methods: ['POST'], body: { json: {} } },
    { path: '/v1/voice/*', methods: ['GET'] },
    { path: streamedPath, methods: ['POST'], body: { any: {} } },
  ],
  // Many of the calls here are refused, from one address.
  auth: { guessing: { enabled: false } },
  // A store that is silent is asked nowhere here.
  storeDeadline: '10s',
};

interface Gateways {
  readonly gateways: readonly [Gateway, Gateway];
  readonly book: KeyBook;
}

const folder = tempFolder({ after });
const onSqlite = await open({ after }, `sqlite:${join(folder, 'g.db')}`);
const adminToken = 'reader-token-0123456789';
const proxy = await startTcpProxy({ after }, redis.port);
const onRedis = await open({ after }, `redis://127.0.0.1:${proxy.port}?prefix=${randomUUID()}:`, {
  admin: { token: adminToken },
});

describe('two gateways see every change of a key within a second', { concurrency: true }, () => {
  test('on one SQLite file', () => keyLife(onSqlite));
  test('on one Redis', async (t) => {
    await t.test('that is well', () => keyLife(onRedis));
    await t.test('whose pub/sub connections are killed', () => keyLife(onRedis, cutFeeds));
  });
});

const cutFeeds = () => redis.say('CLIENT', 'KILL', 'TYPE', 'pubsub');

/** Disturbs before every change. */
async function keyLife(
  { gateways, book }: Gateways,
  disturb: () => unknown = () => undefined,
): Promise<void> {
  const areAll = async (key: string, status: number) =>
    (await Promise.all(gateways.map((one) => one.statusFor(key)))).every((got) => got === status);
  const everywhere = (key: string, status: number) => until(() => areAll(key, status));
  const id = randomUUID();
  const foreign = `foreign-${randomBytes(12).toString('hex')}`;
  await everywhere(foreign, 401);
  await disturb();
  await book.importKeys(
    linesOf([{ plan: 'free', secret: foreign, id }]),
    { update: false, onFault: () => assert.fail(), onWarning: () => undefined, onProgress: () => undefined },
    by,
  );
  await everywhere(foreign, 200);

  await disturb();
  await book.disable(id, by);
  await everywhere(foreign, 401);
  await disturb();
  await book.enable(id, by);
  await everywhere(foreign, 200);

  await disturb();
  await book.update(id, { plan: 'paid' }, by);
  await until(async () => {
    const before = upstream.requests.length;
    for (const gateway of gateways) await gateway.statusFor(foreign);
    const own = upstream.requests.slice(before).filter(({ headers }) => headers['x-gatehouse-key-id'] === id);
    return own.every(({ headers }) => headers['x-gatehouse-plan'] === 'paid');
  });

  await disturb();
  const { secret } = await book.rotate(id, { overlapMs: 60_000 }, by);
  await everywhere(secret, 200);
  await everywhere(foreign, 200);
  await disturb();
  const { secret: last } = await book.rotate(id, { overlapMs: 0 }, by);
  await everywhere(last, 200);
  await everywhere(secret, 401);
  await everywhere(foreign, 401);

  await disturb();
  const expiresAt = Date.now() + 1_000;
  await book.update(id, { expiresAt: new Date(expiresAt).toISOString() }, by);
  await until(async () => (await areAll(last, 200)) || Date.now() >= expiresAt);
  await until(() => Date.now() >= expiresAt);
  await everywhere(last, 401);
  await disturb();
  await book.update(id, { expiresAt: null }, by);
  await everywhere(last, 200);

  await disturb();
  await book.revoke(id, by);
  await everywhere(last, 401);
}

describe('the upstream is told whose a key is, within a second of every change', () => {
  test('by gateways on one SQLite file', () => tellOwner(onSqlite));
  test('by gateways on one Redis', () => tellOwner(onRedis));
});

async function tellOwner({ gateways, book }: Gateways): Promise<void> {
  const { key, secret } = await book.create({ plan: 'free' }, by);
  const isTold = async (owner: string | undefined, apiKey = secret) =>
    (await Promise.all(gateways.map((gateway) => ownersTold(gateway, apiKey))))
      .flat()
      .every((told) => told === owner);
  assert.ok(await isTold(undefined), 'who has no owner cannot give itself one');
  await book.update(key.id, { owner: 'Müller + Söhne' }, by);
  await until(() => isTold('M%C3%BCller %2B S%C3%B6hne'));
  const { secret: next } = await book.rotate(key.id, { overlapMs: 60_000 }, by);
  assert.ok(await isTold('M%C3%BCller %2B S%C3%B6hne', next), 'also when it is found by another secret');
  await book.update(key.id, { owner: 'acme' }, by);
  await until(() => isTold('acme'));
  await book.update(key.id, { owner: null }, by);
  await until(() => isTold(undefined));
  await book.revoke(key.id, by);
}

/** What the upstream hears of the owner in either lane, from a caller that says something else. */
async function ownersTold(gateway: Gateway, apiKey: string): Promise<readonly (string | undefined)[]> {
  const headers = { apiKey, 'x-gatehouse-owner': 'somebody else', 'content-type': 'application/json' };
  const told: (string | undefined)[] = [];
  for (const [path, body] of [
    [namePath, '{}'],
    [streamedPath, 'x'.repeat(100_000)],
  ] as const) {
    const answer = await fetch(gateway.url + path, { method: 'POST', headers, body });
    const seen = (await answer.json()) as { headers: Record<string, string> };
    told.push(seen.headers['x-gatehouse-owner']);
  }
  return told;
}

test('a gateway that stood still serves nobody by what it knew of a key before', async () => {
  const {
    gateways: [gateway],
    book,
  } = onRedis;
  const { key, secret } = await book.create({ plan: 'free' }, by);
  assert.equal(await gateway.statusFor(secret), 200);
  gateway.child.kill('SIGSTOP');
  const stoppedAt = performance.now();
  await book.revoke(key.id, by);
  await until(() => performance.now() - stoppedAt > 1_500);
  proxy.answers = { lateByMs: 300 };
  const calls = Array.from({ length: 8 }, () => gateway.statusFor(secret));
  gateway.child.kill('SIGCONT');
  assert.deepEqual(new Set(await Promise.all(calls)), new Set([401]));
  proxy.answers = 'pass';
});

test('a key works from its networks and on its scopes only', async () => {
  const { gateways, book } = onSqlite;
  const [gateway] = gateways;
  const elsewhere = await book.create({ plan: 'free', networks: ['10.0.0.0/8'] }, by);
  const here = await book.create({ plan: 'free', networks: ['127.0.0.0/8'], scopes: [namePath] }, by);
  const other = await book.create({ plan: 'free', scopes: ['/v1/voice/*'] }, by);
  assert.equal(await gateway.statusFor(elsewhere.secret), 401);
  assert.equal(await gateway.statusFor(here.secret), 200);
  const before = upstream.requests.length;
  const refused = await fetch(gateway.url + namePath, { method: 'POST', headers: { apiKey: other.secret } });
  assert.equal(refused.status, 403);
  assert.deepEqual(await refused.json(), { error: 'This API key may not call this endpoint' });
  assert.equal(upstream.requests.length, before);
});

test('the log says why a key was not valid, and which it was, and the client gets the very same answer', async (t) => {
  const { gateways, book } = onSqlite;
  const [gateway] = gateways;
  const make = async (id: string, fields: object): Promise<string> =>
    (await book.create({ id, plan: 'free', ...fields }, by)).secret;
  const revoked = await make('p-revoked', {});
  await book.revoke('p-revoked', by);
  const rotated = await make('p-rotated', {});
  const { othersUntil } = await book.rotate('p-rotated', { overlapMs: 1 }, by);
  await until(() => Date.now() >= Date.parse(String(othersUntil)));
  const disabled = await make('p-disabled', { enabled: false });
  const early = await make('p-early', { notBefore: '9999-01-01' });
  const late = await make('p-late', { expiresAt: '2020-01-01' });
  const elsewhere = await make('p-elsewhere', { networks: ['10.0.0.0/8'] });
  const cases: [problem: Verdict['reason'] | 'given_twice', id: string | undefined, secrets: string[]][] = [
    ['unknown', undefined, ['nobody-has-this-key']],
    ['mistyped', undefined, [`gh_${'x'.repeat(27)}_000000`]],
    ['given_twice', undefined, [disabled, disabled]],
    ['revoked', 'p-revoked', [revoked]],
    ['secret_expired', 'p-rotated', [rotated]],
    ['disabled', 'p-disabled', [disabled]],
    ['not_yet_valid', 'p-early', [early]],
    ['expired', 'p-late', [late]],
    ['wrong_network', 'p-elsewhere', [elsewhere]],
  ];
  const answers = new Set<string>();
  for (const [problem, id, secrets] of cases) {
    const keys = secrets.map((secret) => ['apiKey', secret] as const);
    const answer = await exchange(t, gateway.port, requestBytes(`POST ${namePath}`, keys));
    const line = await gateway.lineOf(answer);
    const { refusal, keyProblem, refusedKeyId, keyId } = line;
    assert.deepEqual([refusal, keyProblem, refusedKeyId, keyId], ['key_invalid', problem, id, undefined]);
    const text = JSON.stringify(line);
    assert.ok(!secrets.some((secret) => text.includes(secret) || text.includes(digestOf(secret))), problem);
    const headers = answer.rawHeaders.map(([name, value]) =>
      /^(?:date|x-request-id)$/i.test(name) ? name : `${name}: ${value}`,
    );
    answers.add([answer.status, answer.reason, ...headers, answer.text].join('\n'));
  }
  assert.equal(answers.size, 1, [...answers].join('\n\n'));
});

test('keys move to another store with all that they have, and their secrets work there', async (t) => {
  const file = join(tempFolder(t), 'from.yaml');
  const store = `${redis.url}?prefix=${randomUUID()}:`;
  writeFileSync(file, stringify({ ...baseConfig(upstream.url, folder), ...yaml, store }));
  const [from, to] = [await openBook(t, file), onSqlite];
  const { secret } = await from.create(
    {
      id: 'all',
      plan: 'metered',
      name: 'a "name"',
      owner: 'acme',
      quotas: [
        { name: 'daily', limit: 5, per: 'day', timezone: 'Europe/Berlin' },
        { name: 'monthly', limit: 7 },
      ],
      scopes: ['/v1/*'],
      labels: { team: 'voice' },
      networks: ['127.0.0.0/8'],
      notBefore: '2020-01-01T00:00:00Z',
      expiresAt: '2990-01-01T00:00:00Z',
    },
    by,
  );
  const off = await from.create({ id: 'off', plan: 'metered', enabled: false }, by);
  await from.create({ id: 'gone', plan: 'metered' }, by);
  await from.revoke('gone', by);
  const ids = Array.from({ length: 11 }, (_, at) => `turned${10 + at}`);
  for (const id of ids) await from.create({ id, plan: 'metered' }, by);
  const [turned] = await Promise.all(ids.map((id) => from.rotate(id, { overlapMs: 60_000 }, by)));
  assert.ok(turned !== undefined);
  const exported = await commandHere(['keys', 'export', '--config', file]);
  assert.equal(exported.code, 0);
  const named = ids.slice(0, 10).join(', ');
  assert.ok(exported.stderr.endsWith(`only the newest secret is exported: ${named} and 1 more\n`));
  assert.ok(![secret, off.secret, turned.secret].some((one) => exported.stdout.includes(one)));
  const imported = await commandHere(
    ['keys', 'import', '-', '--config', to.gateways[0].configFile],
    exported.stdout,
  );
  assert.deepEqual(
    [imported.stderr, imported.stdout],
    ['', '13 lines: 13 added, 0 updated, 0 skipped, 0 refused\n'],
  );
  for (const id of ['all', 'off', ...ids])
    assert.deepEqual(await fieldsOf(to.book, id), await fieldsOf(from, id));
  await assert.rejects(to.book.show('gone'));
  assert.equal(await to.gateways[0].statusFor(secret), 200);
  assert.equal(await to.gateways[0].statusFor(turned.secret), 200);
  assert.equal(await to.gateways[0].statusFor(off.secret), 401);
});

async function fieldsOf(book: KeyBook, id: string): Promise<unknown> {
  const { version: _version, createdAt: _createdAt, secrets: _secrets, ...fields } = await book.show(id);
  return fields;
}

test('lists name what cannot be read, and have all the rest', async () => {
  const {
    gateways: [gateway],
    book,
  } = onRedis;
  for (const id of ['a', 'b', 'c', 'd']) await book.create({ id, plan: 'metered' }, by);
  const at = loadConfig(gateway.configFile, {}).store;
  await spoilKey(at, 'b', { how: 'gone', redis });
  await spoilKey(at, 'c', { how: 'damaged', redis });
  const foreign = 'e\u001B[2J\n\u009B2J'; // clears the screen
  assert.ok(at.kind === 'redis');
  await redis.say('ZADD', `${at.prefix}{keys}:ids`, '0', foreign);

  const answer = await fetch(`${gateway.adminUrl}/v1/keys`, {
    headers: { authorization: `Bearer ${adminToken}` },
  });
  const page = (await answer.json()) as { keys: { id: string }[]; unreadable: string[]; next: string | null };
  assert.deepEqual(
    page.keys.map(({ id }) => id),
    ['a', 'd'],
  );
  assert.deepEqual([page.unreadable, page.next], [['b', 'c', foreign], null]);
  const damaged = await fetch(`${gateway.adminUrl}/v1/keys/c`, {
    headers: { authorization: `Bearer ${adminToken}` },
  });
  const { error, code } = (await damaged.json()) as { error: string; code: string };
  assert.deepEqual([damaged.status, code, damaged.headers.get('retry-after')], [500, 'unreadable', null]);
  assert.equal(error, 'The record of key c in the store cannot be read');

  const cli = (...words: readonly string[]) => commandHere([...words, '--config', gateway.configFile]);
  const [keys, usage, exported] = await Promise.all([
    cli('keys', 'list', '--quiet', '--all'),
    cli('usage', 'show', '--json', '--all'),
    cli('keys', 'export'),
  ]);
  assert.deepEqual([keys.code, keys.stdout], [65, 'a\nd\n']);
  assert.deepEqual([exported.code, exported.stderr], [65, keys.stderr]);
  assert.match(exported.stdout, /^\{"id":"a".*\n\{"id":"d".*\n$/);
  assert.equal(
    keys.stderr,
    ['b', 'c', 'e\uFFFD[2J\uFFFD\uFFFD2J']
      .map((id) => `gatehouse: key ${id} cannot be read in the store\n`)
      .join(''),
  );
  assert.equal(usage.code, 65);
  assert.match(usage.stdout, /^\{"key":"demo".*\n\{"key":"a".*\n\{"key":"d".*\n$/);
  assert.match(
    usage.stderr,
    /^gatehouse: the usage of key b cannot .*\ngatehouse: the usage of key c cannot .*\n.* key e\uFFFD\[2J\uFFFD\uFFFD2J cannot .*\n$/,
  );
});

// The last on this Redis, which forgets all that it holds.
test('an outage of the store is never an invalid key, and known keys go on working', async () => {
  const {
    gateways: [gateway],
    book,
  } = onRedis;
  const { secret } = await book.create({ plan: 'free' }, by);
  assert.equal(await gateway.statusFor(secret), 200);
  const refused = randomUUID();
  assert.equal(await gateway.statusFor(refused), 401);
  await redis.stop();
  for (let round = 0; round < 20; round += 1) assert.equal(await gateway.statusFor(secret), 200);
  await until(async () => (await gateway.statusFor(refused)) === 500, {
    within: 20_000,
    what: 'a key that was unknown before is judged no more: somebody may have made it since',
  });
  for (let round = 0; round < 20; round += 1) assert.equal(await gateway.statusFor(randomUUID()), 500);
  assert.equal(
    await gateway.statusFor(`gh_${'x'.repeat(27)}_000000`),
    401,
    'what needs no store is answered without it',
  );
  assert.equal(await gateway.statusFor(demoKey), 200);
  await redis.start();
  await until(async () => (await gateway.statusFor(randomUUID())) === 401);
});

test('the command line leads a key through its life, and shows each secret once', async () => {
  const { gateways } = onSqlite;
  const [gateway] = gateways;
  const outputs: string[] = [];
  const keysBy =
    (runner: typeof commandHere | typeof runCli) =>
    async (words: readonly string[], input = '') => {
      const run = await runner(['keys', ...words, '--config', gateway.configFile], input);
      outputs.push(run.stdout, run.stderr);
      return run;
    };
  // As processes of their own one that says something, and one that hears something; the others say the same here.
  const [keys, keysHere] = [keysBy(runCli), keysBy(commandHere)];
  const secrets: string[] = [];
  const made = await keys(['create', '--plan', 'free', '--name', 'build', '--quiet', '--id', 'k1']);
  assert.deepEqual([made.code, made.stderr], [0, '']);
  assert.match(made.stdout, /^gh_[0-9A-Za-z]{27}_[0-9A-Za-z]{6}\n$/);
  secrets.push(made.stdout.trim());
  assert.equal(await gateway.statusFor(secrets[0]!), 200);

  const rotated = await keysHere(['rotate', 'k1', '--overlap', '24h']);
  assert.match(rotated.stderr, /Its earlier secrets work until \d{4}-.* at the latest\./);
  secrets.push(rotated.stdout.trim());
  for (const secret of secrets) assert.equal(await gateway.statusFor(secret), 200);

  for (const [flags, says] of [
    [
      ['--expires', '2020-01-01'],
      /^Key \S+ was made on plan free, but works for nobody: it expired 2020-01-01/,
    ],
    [['--not-before', '9999-01-01'], /^Key \S+ was made on plan free, it works from 9999-01-01.*\.\n/],
    [['--not-before', '1d', '--expires', '2d'], /free, it works from \d{4}-.* and expires \d{4}-/],
    [['--not-before', '2020-01-01', '--expires', '2d'], /free, it expires \d{4}-/],
  ] as const) {
    const dated = await keysHere(['create', '--plan', 'free', ...flags]);
    secrets.push(dated.stdout.trim());
    assert.match(dated.stderr, says);
  }

  const json = JSON.parse((await keysHere(['create', '--plan', 'paid', '--json'])).stdout) as {
    key: { id: string };
    secret: string;
  };
  secrets.push(json.secret);
  const rows = [
    'foreign-key-000000001,"Smith, J.",acme',
    `gh_${'x'.repeat(27)}_000000,x,y`,
    'a b,x,y',
    'foreign-key-2,,',
  ];
  const file = ['secret,name,owner', ...rows].join('\n');
  secrets.push('foreign-key-000000001', 'foreign-key-2');
  const imported = await keys(['import', '-', '--plan', 'free'], file);
  assert.equal(imported.code, 1);
  assert.match(imported.stdout, /^4 lines: 2 added, 0 updated, 0 skipped, 2 refused\n$/);
  assert.match(
    imported.stderr,
    /^line 3: secret begins.*\nline 4: secret must.*\nline 5: warning: secret is shorter than 16/,
  );
  assert.equal(await gateway.statusFor('foreign-key-000000001'), 200);
  const broken = await keysHere(
    ['import', '-', '--plan', 'free'],
    `secret,name\n${rows[0]!.split(',')[0]},x\nx,"y\nz,w\n`,
  );
  assert.deepEqual(
    [broken.code, broken.stdout, broken.stderr],
    [
      1,
      '1 line: 0 added, 0 updated, 1 skipped, 0 refused\n',
      'gatehouse: line 3 has a quote that is not closed; nothing from there on was read\n',
    ],
  );

  for (const words of [['revoke'], ['disable'], ['rotate', '--now']]) {
    const { code, stderr } = await keysHere([...words, 'k1']);
    assert.deepEqual([code, stderr.includes('add --yes')], [64, true]);
  }
  const verify = ['verify', '--from', '127.0.0.1', '--path', namePath, '--method', 'POST'];
  assert.match((await keysHere(verify, secrets[0])).stdout, /^valid: key k1/);
  await keysHere(['update', 'k1', '--plan', 'paid', '--label', 'team=x', '--expires', '90d']);
  assert.equal((await keysHere(['revoke', 'k1', '--yes'])).code, 0);
  await until(async () => (await gateway.statusFor(secrets[0]!)) === 401);
  const looks = [
    ['list'],
    ['list', '--all', '--json'],
    ['list', '--revoked'],
    ['show', 'k1'],
    ['audit'],
    ['audit', '--json'],
    ['pattern'],
  ];
  for (const words of looks) {
    const { code, stderr } = await keysHere(words);
    assert.deepEqual([code, stderr], [0, '']);
  }
  const seen = [
    await keysHere(['show', json.key.id]),
    await keysHere(['show', json.key.id, '--json']),
  ] as const;
  assert.match(seen[0].stdout, /^state +good$/m);
  assert.match(seen[1].stdout, /"state": "good"/, 'the same word');
  const mistakes = [
    [
      ['create', '--plan', 'free', '--expires', '99999999d'],
      /^gatehouse: --expires is not a date, .* never\n$/,
    ],
    [['create', '--plan', 'free', '--quota', 'm=0'], /^gatehouse: --quota limit is not a whole number/],
    [['create', '--plan', 'free', '--quota', 'm'], /^gatehouse: --quota is written monthly=5000 or/],
    [['create', '--plan', 'free', '--scope', '/x', '--network', 'x'], /--scope is .*\n.*: --network is no/],
    [['update', 'k1', '--not-before', 'soon'], /^gatehouse: --not-before is not a date/],
    [['update', 'k1', '--clear', 'expires'], /Choose from name, .*, expiresAt\./],
    [
      ['update', 'k1', '--clear', 'quotas', '--quota', 'a=5/day', '--clear', 'name', '--owner', 'x'],
      /^gatehouse: --quota cannot be given and cleared at once\n$/,
    ],
    [['update', 'k1', '--expires', '7d', '--clear', 'expiresAt'], /: --expires cannot be given and cleared/],
  ] as const;
  for (const [words, sentence] of mistakes) {
    const { code, stderr } = await keysHere(words);
    assert.match(stderr, sentence);
    assert.equal(code, 64);
  }

  await gateway.statusFor(secrets[2]!);
  const metrics = await gateway.metrics();
  for (const one of gateways) await one.stop();
  const stored = readdirSync(folder).map((name) => readFileSync(join(folder, name)).toString('latin1'));
  const sinks = [...gateways.map((one) => one.logText()), metrics, ...stored].join('\n');
  for (const secret of secrets) {
    assert.ok(!sinks.includes(secret), 'in a log, a metric or the store');
    const shown = outputs.filter((output) => output.includes(secret)).length;
    assert.equal(shown, secret.startsWith('foreign') ? 0 : 1, 'shown when it was made, and never again');
    assert.ok(!outputs.join().includes(digestOf(secret)));
  }
});

async function open(t: Scene, store: string, over: Yaml = {}): Promise<Gateways> {
  const start = () => startGateway(t, { ...yaml, store, ...over }, { upstream: upstream.url });
  const gateways = await Promise.all([start(), start()]);
  return { gateways, book: await openBook(t, gateways[0].configFile) };
}

/** The keys of the store that the configuration names. */
async function openBook(t: Scene, configFile: string): Promise<KeyBook> {
  const config = loadConfig(configFile, {});
  const opened = await openStore(config.store, { deadlineMs: 10_000 });
  t.after(() => opened.close());
  return createKeyBook({ store: opened.keys, rules: createKeyRules(config), now: Date.now });
}

async function* linesOf(fields: readonly Readonly<Record<string, unknown>>[]): AsyncGenerator<ImportLine> {
  for (const [at, line] of fields.entries()) yield { number: at + 1, fields: line };
}
