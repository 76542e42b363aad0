import assert from 'node:assert/strict';
import { hash, randomBytes, randomUUID } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, describe, test } from 'node:test';
import { operations } from '../../src/admin/operations.ts';
import { createAdminClient, type AdminBody, type AdminClient } from '../helpers/admin-client.ts';
import { until } from '../helpers/poll.ts';
import { exchange, requestBytes } from '../helpers/raw-socket.ts';
import { startRecordingUpstream } from '../helpers/recording-upstream.ts';
import { startRedisServer } from '../helpers/redis-server.ts';
import { demoKey, namePath, startGateway, type Gateway, type Yaml } from '../helpers/start-gateway.ts';

const writer = 'writer-token-0123456789';
const reader = 'reader-token-0123456789';
const hashed = 'hashed-token-0123456789';
const usagePath = '/v1/usage';
const upstream = await startRecordingUpstream({ after });
const redis = await startRedisServer({ after });

const yaml: Yaml = {
  plans: { free: { quotas: [{ name: 'monthly', limit: 1000, per: 'month' }] }, paid: {} },
  admin: {
    token: writer,
    tokens: [
      { name: 'ada', hash: `sha256:${hash('sha256', hashed)}`, role: 'write' },
      { name: 'prometheus', token: reader },
    ],
  },
  auth: { guessing: { enabled: false } },
  usage: { path: usagePath },
  // How late a store may be is not what is asked here, and the scenes run side by side.
  storeDeadline: '5s',
};

interface Scene {
  readonly ask: AdminClient;
  /** Another gateway on the same store, or the same one again. */
  readonly other: AdminClient;
  readonly gateways: readonly Gateway[];
}

const start = (over: Yaml): Promise<Gateway> =>
  startGateway({ after }, { ...yaml, ...over }, { upstream: upstream.url });
const [one, two, many] = await Promise.all([
  start({ store: redis.url }),
  start({ store: redis.url }),
  start({ workers: 2 }),
]);
const onRedis = await open([one, two]);
const scenes: Readonly<Record<string, Scene>> = {
  'two gateways on one Redis': onRedis,
  'two workers on one SQLite file': await open([many]),
};

for (const [name, scene] of Object.entries(scenes)) {
  describe(`the admin API of ${name}`, { concurrency: true }, () => apiRules(scene));
}
describe('the admin API', { concurrency: true }, () => readingRules(onRedis));

function apiRules({ ask, other, gateways }: Scene): void {
  const everywhere = (key: string, status: number) =>
    until(async () => (await call(gateways, key)).every((got) => got === status));

  test('leads a key through its life, and every gateway knows within a second', async () => {
    const made = await ask('POST', '/v1/keys', {
      body: { plan: 'free', name: 'build', labels: { team: 'x' } },
    });
    assert.deepEqual([made.status, made.headers.get('etag')], [201, '"1"']);
    const { key, secret } = made.body;
    const path = `/v1/keys/${key.id}`;
    assert.equal(made.headers.get('location'), path);
    await everywhere(secret, 200);
    assert.deepEqual((await other('GET', path)).body.id, key.id);

    const changed = await ask('PATCH', path, { body: { plan: 'paid', name: null, expiresAt: '2099-01-01' } });
    assert.deepEqual(
      [changed.body.plan, changed.body.name, changed.body.expiresAt, changed.headers.get('etag')],
      ['paid', '', '2099-01-01T00:00:00.000Z', '"2"'],
    );
    await ask('POST', `${path}/disable`);
    await everywhere(secret, 401);
    await other('POST', `${path}/enable`);
    await everywhere(secret, 200);

    for (const overlap of ['91d', '99999999999999999d'])
      assert.equal((await ask('POST', `${path}/rotate`, { body: { overlap } })).status, 422);
    const rotated = await ask('POST', `${path}/rotate`, { body: { overlap: '24h' } });
    assert.ok(Date.parse(rotated.body.othersUntil) > Date.now() + 23 * 3_600_000);
    await everywhere(rotated.body.secret, 200);
    await everywhere(secret, 200);
    const last = await ask('POST', `${path}/rotate`, { body: { overlap: '0s' } });
    assert.equal(last.body.othersUntil, null);
    await everywhere(secret, 401);
    await everywhere(last.body.secret, 200);

    assert.equal((await ask('POST', `${path}/revoke`)).body.state, 'revoked');
    await everywhere(last.body.secret, 401);
    const late = await ask('PATCH', path, { body: { name: 'late' } });
    assert.deepEqual([late.status, late.body.code], [409, 'conflict']);

    const { entries } = (await other('GET', `/v1/audit?key=${key.id}`)).body;
    assert.deepEqual(
      entries.map((entry) => `${entry.actor} ${entry.action}`),
      ['revoke', 'rotate', 'rotate', 'enable', 'disable', 'update', 'create'].map(
        (action) => `admin ${action}`,
      ),
    );
  });

  test('a list is read page by page, with the filters of the command line', async () => {
    const owner = randomUUID();
    const ids = await Promise.all(
      [0, 1, 2, 3, 4].map(async (at) => {
        const body = {
          id: `${owner}-${at}`,
          plan: at < 3 ? 'free' : 'paid',
          owner,
          labels: { n: String(at) },
        };
        return (await ask('POST', '/v1/keys', { body })).body.key.id;
      }),
    );
    await ask('POST', `/v1/keys/${ids[4]}/revoke`);
    const list = async (query: string): Promise<string[]> => {
      const found: string[] = [];
      let cursor = '';
      do {
        const { status, body } = await other('GET', `/v1/keys?owner=${owner}&${query}${cursor}`);
        assert.equal(status, 200);
        found.push(...body.keys.map(({ id }) => id));
        cursor = body.next === null ? '' : `&cursor=${body.next}`;
      } while (cursor !== '');
      return found;
    };
    assert.deepEqual(await list('limit=1'), ids.slice(0, 4));
    assert.deepEqual(await list('plan=free&label=n&label=n%3D1'), [ids[1]]);
    assert.deepEqual(await list('revoked=true'), [ids[4]]);
    assert.deepEqual(await list('enabled=false'), []);
  });

  test('If-Match keeps a change from undoing another', async () => {
    const { body, headers } = await ask('POST', '/v1/keys', { body: { plan: 'free' } });
    const path = `/v1/keys/${body.key.id}`;
    const tag = headers.get('etag') ?? '';
    const change = (name: string, match: string) =>
      ask('PATCH', path, { body: { name }, headers: { 'if-match': match } });
    assert.equal((await change('a', tag)).status, 200);
    const outdated = await change('b', tag);
    assert.deepEqual([outdated.status, outdated.body.code], [412, 'outdated']);
    assert.equal((await change('c', `${tag}, "2"`)).status, 200);
    assert.equal((await change('d', '*')).status, 200);
    const match = { headers: { 'if-match': tag } };
    for (const action of ['revoke', 'disable', 'enable']) {
      assert.equal((await ask('POST', `${path}/${action}`, match)).status, 412, action);
    }
    for (const named of [{}, { 'idempotency-key': randomUUID() }]) {
      const request = { headers: { ...match.headers, ...named }, body: { overlap: '1h' } };
      assert.equal((await ask('POST', `${path}/rotate`, request)).status, 412);
    }
    const shown = await ask('GET', path);
    assert.deepEqual(
      [shown.body.name, shown.body.secrets.length, shown.headers.get('etag')],
      ['d', 1, '"4"'],
    );
    const atOnce = await Promise.all(
      Array.from({ length: 4 }, () =>
        ask('PATCH', path, {
          body: { name: randomUUID() },
          headers: { 'if-match': '"4"' },
        }),
      ),
    );
    assert.deepEqual(
      atOnce.map(({ status }) => String(status)).toSorted(),
      ['200', '412', '412', '412'],
      'one of those who come at once',
    );
  });

  test('an idempotency key makes one key on all gateways, and its secret is told once', async () => {
    const headers = { 'idempotency-key': randomUUID() };
    const body = { plan: 'free', labels: { a: '1', b: '2' } };
    const reordered = { labels: { b: '2', a: '1' }, plan: 'free' };
    const answers = await Promise.all(
      [ask, other, ask, other, ask].map((each, at) =>
        each('POST', '/v1/keys', { headers, body: at % 2 ? body : reordered }),
      ),
    );
    assert.deepEqual(answers.map(({ status }) => String(status)).toSorted(), [
      '200',
      '200',
      '200',
      '200',
      '201',
    ]);
    assert.equal(new Set(answers.map((answer) => answer.body.key.id)).size, 1);
    assert.equal(answers.filter((answer) => answer.body.secret !== null).length, 1);
    const again = await other('POST', '/v1/keys', { headers, body });
    assert.deepEqual([again.status, again.headers.get('idempotent-replayed')], [200, 'true']);
    const another = await other('POST', '/v1/keys', { headers, body: { ...body, plan: 'paid' } });
    assert.deepEqual([another.status, another.body.code], [422, 'reused']);
    const ada = await ask('POST', '/v1/keys', { headers, body, token: hashed });
    assert.equal(ada.status, 201, 'another token has names of its own');
    const chosen = await ask('POST', '/v1/keys', { headers, body: { ...body, id: 'chosen' } });
    assert.deepEqual(chosen.body.fields[0]?.field, 'id');
    assert.equal(
      (await ask('POST', '/v1/keys', { headers: { 'idempotency-key': 'a b' }, body })).status,
      400,
    );

    const path = `/v1/keys/${again.body.key.id}/rotate`;
    const otherwise = await ask('POST', path, { headers, body: { overlap: '1h' } });
    assert.deepEqual([otherwise.status, otherwise.body.code], [422, 'reused'], 'it has made the key');
    const rotation = { headers: { 'idempotency-key': randomUUID() }, body: { overlap: '1h' } };
    const rotations = await Promise.all([ask, other, ask].map((each) => each('POST', path, rotation)));
    assert.equal(rotations.filter((answer) => answer.body.secret !== null).length, 1);
    const differently = await ask('POST', path, { ...rotation, body: { overlap: '2h' } });
    assert.equal(differently.status, 422);
    const elsewhere = await ask('POST', `/v1/keys/${ada.body.key.id}/rotate`, rotation);
    assert.equal(typeof elsewhere.body.secret, 'string', 'another key knows nothing of the name');
    assert.equal((await ask('GET', path.replace('/rotate', ''))).body.secrets.length, 2);
    assert.equal(
      (await ask('POST', '/v1/keys', { headers, body })).status,
      200,
      'the first request is still known',
    );
  });

  test('a chosen id is taken once', async () => {
    const body = { id: randomUUID(), plan: 'free' };
    assert.equal((await ask('POST', '/v1/keys', { body })).status, 201);
    const twice = await other('POST', '/v1/keys', { body });
    assert.deepEqual([twice.status, twice.body.error], [409, 'There is a key of this id already']);
    assert.equal((await ask('POST', '/v1/keys', { body: { id: 'demo', plan: 'free' } })).status, 409);
    const inFile = await Promise.all([
      ask('GET', '/v1/keys/demo'),
      ask('PATCH', '/v1/keys/demo', { body: { name: 'x' } }),
    ]);
    for (const answer of inFile) {
      assert.deepEqual(
        [answer.status, answer.body.error],
        [404, 'This key stands in the configuration file, and is seen and changed there'],
      );
    }
  });

  test('an import takes what is right and reports the rest line by line', async () => {
    const secrets = Array.from({ length: 3 }, () => `foreign-${randomBytes(12).toString('hex')}`);
    const short = randomBytes(7).toString('hex');
    const csv = [
      'secret,name,owner',
      `${secrets[0]},"Smith, J.",acme`,
      `gh_${'x'.repeat(27)}_000000,x,y`,
      'a b,x,y',
      `${secrets[1]},,`,
      `${short},,`,
      '{{ACME_KEY}},,',
    ];
    const first = await ask('POST', '/v1/import?plan=free', {
      headers: { 'content-type': 'text/csv; charset=utf-8; header=present' },
      body: csv.join('\r\n'),
    });
    const { faults, warnings, ...counts } = first.body;
    assert.deepEqual(counts, { lines: 6, added: 3, updated: 0, skipped: 0, refused: 3 });
    assert.deepEqual(warnings, [
      { line: 6, problem: 'secret is shorter than 16 characters and can be guessed' },
    ]);
    assert.deepEqual(
      faults.map(({ line }) => line),
      [3, 4, 7],
    );
    await everywhere(secrets[0]!, 200);

    const lines = [
      { secret: secrets[0], hash: null, id: null, plan: 'paid' },
      { hash: `sha256:${hash('sha256', secrets[2]!)}`, plan: 'free' },
    ].map((line) => JSON.stringify(line));
    const second = await other('POST', '/v1/import?update=true', {
      headers: { 'content-type': 'application/x-ndjson' },
      body: [...lines, '{"plan":"free","plan":"paid"}', '{'].join('\n'),
    });
    const { faults: twice, warnings: none, ...others } = second.body;
    assert.deepEqual(none, []);
    assert.deepEqual(others, { lines: 4, added: 1, updated: 1, skipped: 0, refused: 2 });
    assert.deepEqual(
      twice.map(({ line }) => line),
      [3, 4],
    );
    await everywhere(secrets[2]!, 200);
    const heading = await ask('POST', '/v1/import', {
      headers: { 'content-type': 'text/csv' },
      body: 'sekret\nx\n',
    });
    assert.equal(heading.status, 422);
    const [whole, chosen] = ['whole', 'chosen'].map((word) => `${word}-${randomUUID()}`);
    const torn = await ask('POST', '/v1/import?plan=free', {
      headers: { 'content-type': 'text/csv' },
      body: `secret,name\n${whole},"x\n${chosen},y\n"\n${whole},z\nabc,"x\n${chosen},y\n`,
    });
    const { report, error } = torn.body;
    assert.deepEqual(
      [torn.status, error, report.lines, report.added, report.refused],
      [422, 'Line 6 has a quote that is not closed; nothing from there on was read', 2, 1, 1],
    );
    await everywhere(chosen!, 401);
    const nowhere = await ask('POST', '/v1/import?plan=fre', {
      headers: { 'content-type': 'text/csv' },
      body: csv.join('\n'),
    });
    assert.deepEqual([nowhere.status, nowhere.body.report.refused], [422, 0]);
  });

  test('verify says what a gateway would say, and the secret never stands in a URL', async () => {
    const { body } = await ask('POST', '/v1/keys', { body: { plan: 'free', networks: ['10.0.0.0/8'] } });
    const verify = async (request: object) =>
      (await ask('POST', '/v1/verify', { token: reader, body: request })).body;
    const { secret } = body;
    assert.deepEqual((await verify({ secret })).reason, 'good');
    assert.deepEqual((await verify({ secret, from: '127.0.0.1' })).reason, 'wrong_network');
    const route = await verify({ secret, path: namePath, method: 'put' });
    assert.deepEqual([route.valid, route.refusal, route.answer.status], [false, 'method_not_allowed', 405]);
    assert.deepEqual((await verify({ secret: '' })).refusal, 'key_missing');
    assert.deepEqual((await verify({ secret: `${secret}x` })).reason, 'mistyped');
    const inFile = await verify({ secret: demoKey });
    assert.deepEqual(
      [inFile.reason, inFile.key.id, inFile.key.createdAt, inFile.key.secrets, inFile.secret],
      ['good', 'demo', null, [], null],
    );
    assert.equal((await ask('POST', '/v1/verify', { body: {} })).body.fields[0]?.field, 'secret');
    assert.equal((await ask('POST', '/v1/verify', { body: { secret, from: 'here' } })).status, 422);
    const { pattern } = (await ask('GET', '/v1/pattern', { token: reader })).body;
    assert.match(secret, new RegExp(pattern));
  });

  test('usage is shown and set to zero, of keys in the file too', async () => {
    const { body } = await ask('POST', '/v1/keys', { body: { plan: 'free' } });
    const path = `/v1/keys/${body.key.id}/usage`;
    await everywhere(body.secret, 200);
    const used = () => ask('GET', path).then((answer) => answer.body.quotas[0]?.used ?? 0);
    await until(async () => (await used()) > 0);
    const { quotas: ended } = (await ask('GET', `${path}?ended=true`)).body;
    assert.ok(
      ended.every((quota) => quota.used === 0),
      'there is one on the first day of a month only',
    );
    // Gateways give back what they hold; until then it counts as used.
    await until(
      async () =>
        (await ask('POST', `${path}/reset`, { body: { quota: 'monthly' } })).body.quotas[0]?.used === 0,
    );
    const set = (asked: object) => ask('POST', `${path}/set`, { body: asked });
    for (const units of [7, 7, 2000]) {
      const [quota] = (await set({ quota: 'monthly', used: units })).body.quotas;
      assert.partialDeepStrictEqual(quota, { used: units, remaining: Math.max(0, 1000 - units) });
    }
    await everywhere(body.secret, 429);
    assert.equal((await set({ quota: 'month', used: 1 })).status, 404);
    for (const wrong of [{ quota: 'monthly' }, { used: 1 }, {}, { quota: 'monthly', used: -1 }])
      assert.equal((await set(wrong)).status, 422);
    assert.equal((await ask('POST', `${path}/reset`, { body: { quota: 'month' } })).status, 404);
    assert.equal((await ask('POST', `${path}/reset`)).status, 200, 'no body is all of them');
    assert.equal((await ask('POST', `${path}/reset`, { body: '{}' })).status, 415, 'a body has its type');
    assert.equal((await ask('GET', '/v1/keys/demo/usage')).body.plan, 'free');
    assert.equal((await ask('GET', '/v1/keys/demo/usage?ended=yes')).status, 422);
    assert.equal((await ask('GET', '/v1/keys/nobody/usage')).status, 404);
  });

  test('a token that reads does not write, and the audit log knows tokens by their names', async () => {
    const { body } = await ask('POST', '/v1/keys', { token: hashed, body: { plan: 'free' } });
    const { id } = body.key;
    const writes = Object.entries(ask.document.paths).flatMap(([path, item]) =>
      Object.keys(item)
        .filter((method) => method === 'patch' || (method === 'post' && path !== '/v1/verify'))
        .map((method) => [method.toUpperCase(), path.replace('{id}', id)] as const),
    );
    assert.ok(writes.length >= 8);
    for (const [method, path] of writes) {
      const refused = await ask(method, path, { token: reader, body: {} });
      assert.deepEqual([refused.status, refused.body.code], [403, 'read_only'], path);
    }
    assert.equal((await ask('GET', `/v1/keys/${id}`, { token: reader })).body.version, 1);
    const [entry] = (await ask('GET', `/v1/audit?key=${id}&limit=1`, { token: reader })).body.entries;
    assert.equal(entry?.actor, 'ada');
  });

  test('what operators ask of the store is in the metrics, as what callers do', async () => {
    const counted = /^gatehouse_store_duration_seconds_count\{operation="list_audit"\} (\d+)$/m;
    const asked = async (): Promise<number> => Number(counted.exec(await gateways[0]!.metrics())?.[1] ?? 0);
    const before = await asked();
    for (let again = 0; again < 2; again += 1) await ask('GET', '/v1/audit');
    assert.ok((await asked()) >= before + 2);
  });
}

/** How a request is read, before any store is asked. */
function readingRules({ ask, gateways }: Scene): void {
  test('an unknown parameter is refused by every operation', async () => {
    const { key } = (await ask('POST', '/v1/keys', { body: { plan: 'free' } })).body;
    for (const { method, path, body } of operations) {
      const sent = body.kind === 'none' ? {} : { body: body.kind === 'lines' ? 'secret\n' : {} };
      const headers = body.kind === 'lines' ? { 'content-type': 'text/csv' } : {};
      const answer = await ask(method, `${path.replace('{id}', key.id)}?other=1`, { ...sent, headers });
      assert.deepEqual([answer.status, answer.body.code], [422, 'invalid'], `${method} ${path}`);
    }
  });

  test('of an unknown field those are told that there are, and its name if it can be no secret', async () => {
    const others = 'name, owner, plan, quotas, scopes, labels, networks, notBefore, expiresAt, enabled';
    const { key } = (await ask('POST', '/v1/keys', { body: { plan: 'free' } })).body;
    for (const [method, path, names] of [
      ['POST', '/v1/keys', `id, ${others}`],
      ['PATCH', `/v1/keys/${key.id}`, others],
    ] as const) {
      const unknown = { nonsense: 1, [randomUUID()]: 2, owners: 3, [randomUUID()]: 4, rubbish: 5 };
      const { status, body } = await ask(method, path, { body: { plan: 'free', ...unknown } });
      assert.deepEqual(
        [status, body.fields],
        [
          422,
          [
            { field: 'nonsense', problem: `is not a field, choose from ${names}` },
            { field: 'owners', problem: 'is not a field, did you mean "owner"?' },
            { field: 'rubbish', problem: 'is not a field' },
          ],
        ],
      );
    }
    const line = { headers: { 'content-type': 'application/jsonl' }, body: '{"sekret":"x","plan":"free"}' };
    const { faults } = (await ask('POST', '/v1/import', line)).body;
    assert.deepEqual(faults, [{ line: 1, problem: 'there is no such field, did you mean "secret"?' }]);
  });

  test('all that is wrong with a new key is said together, in its id too', async () => {
    const body = { id: 'a/b', plan: 'fre', networks: ['300.0.0.1'] };
    const answer = await ask('POST', '/v1/keys', { body });
    assert.equal(answer.status, 422);
    assert.deepEqual(
      answer.body.fields.map(({ field }) => field),
      ['id', 'plan', 'networks[0]'],
    );
    const line = { headers: { 'content-type': 'application/jsonl' }, body: JSON.stringify(body) };
    const problem = (await ask('POST', '/v1/import', line)).body.faults[0]?.problem ?? '';
    for (const part of ['id is not an id', 'plan ', 'networks[0] '])
      assert.ok(problem.includes(part), problem);
  });

  test('verify reads a path as a gateway does', async (t) => {
    const { body } = await ask('POST', '/v1/keys', { body: { plan: 'free' } });
    const asked = [
      ['POST', namePath],
      ['POST', `${namePath}?x=1`],
      ['POST', `/${namePath}`],
      ['POST', `${namePath}/../name`],
      ['POST', `${namePath}?x=1#y`],
      ['DELETE', `${namePath}?x=1`],
      ['GET', usagePath],
      ['GET', `${usagePath}?x=1`],
      ['POST', usagePath],
      ['GET', `${usagePath}/`],
      ['GET', '*'],
      ['M-SEARCH', namePath],
      ['GET', `${namePath}/${'x'.repeat(5000)}`],
    ] as const;
    for (const secret of [body.secret, 'wrong']) {
      for (const [method, path] of asked) {
        const { valid, answer } = (await ask('POST', '/v1/verify', { body: { secret, path, method } })).body;
        const headers = [
          ['apiKey', secret],
          ['Content-Type', 'application/json'],
        ] as const;
        const { status, text } = await exchange(
          t,
          gateways[0]!.port,
          requestBytes(`${method} ${path}`, headers, '{"firstName":"A","lastName":"B"}'),
        );
        const said = { status, body: text };
        assert.deepEqual(answer, status === 200 ? null : said, `${method} ${path}`);
        assert.equal(valid, status === 200);
      }
    }
  });
}

test('an import that is larger than the memory it may take is read as it comes', async () => {
  const [gateway] = onRedis.gateways;
  const prefix = randomUUID();
  const refused = Buffer.from(`{"name":"${'x'.repeat(8000)}"\n`.repeat(500));
  const before = await heldBy(gateway!);
  const sent = { rounds: 0, megabytes: 0 };
  const held: number[] = [];
  async function* lines(): AsyncGenerator<Uint8Array> {
    // What is held goes up and down with the collector; lines that are kept would never go away again.
    while (sent.megabytes < 24 || (held.at(-1)! > sent.megabytes / 2 && sent.megabytes < 200)) {
      yield refused;
      const some = Array.from(
        { length: 50 },
        (_, at) => `{"hash":"${hash('sha256', `${prefix}${sent.rounds}.${at}`)}"}\n`,
      );
      yield Buffer.from(some.join(''));
      sent.rounds += 1;
      sent.megabytes += refused.length / 1024 / 1024;
      held.push((await heldBy(gateway!)) - before);
    }
  }
  const request = {
    method: 'POST',
    headers: { authorization: `Bearer ${writer}`, 'content-type': 'application/jsonl' },
    body: ReadableStream.from(lines()),
    duplex: 'half',
  } as RequestInit;
  const answer = await fetch(`${gateway!.adminUrl}/v1/import?plan=free`, request);
  const report = (await answer.json()) as AdminBody;
  assert.deepEqual(
    [report.added, report.refused, report.faults.length],
    [sent.rounds * 50, sent.rounds * 500, 1000],
  );
  assert.ok(held.at(-1)! <= sent.megabytes / 2, `${sent.megabytes} MB came, held: ${held.join(' ')}`);
});

test('one line for each change says who asked for what, and no secret is anywhere', async () => {
  for (const { ask, gateways } of Object.values(scenes)) {
    const { body } = await ask('POST', '/v1/keys', { token: hashed, body: { plan: 'free' } });
    await ask('POST', `/v1/keys/${body.key.id}/revoke`, { token: reader });
    const lines = () =>
      gateways
        .flatMap((gateway) => gateway.logs())
        .filter(({ actor, msg }) => actor !== 'admin' && msg === 'an operator asked for a change')
        .slice(-2)
        .map(({ level: _level, time: _time, msg: _msg, ...rest }) => rest);
    await until(() => lines()[0]?.['keyId'] === body.key.id);
    assert.deepEqual(lines(), [
      { actor: 'ada', operation: 'createKey', keyId: body.key.id, status: 201 },
      { actor: 'prometheus', operation: 'revokeKey', status: 403 },
    ]);
    const metrics = await gateways[0]!.metrics();
    const files = gateways.flatMap(({ folder }) =>
      readdirSync(folder)
        .filter((name) => name !== 'gateway.yaml')
        .map((name) => readFileSync(join(folder, name), 'latin1')),
    );
    const sinks = [metrics, ...gateways.map((gateway) => gateway.logText()), ...files].join('\n');
    for (const secret of [body.secret, writer, reader, hashed, hash('sha256', hashed)]) {
      assert.ok(!sinks.includes(secret));
    }
  }
});

// The last on this Redis, which forgets all that it holds.
test('an outage of the store is 503, only of a change is it said that it may have been done, and an import that it breaks off says how far it got', async () => {
  const { ask, gateways } = onRedis;
  const headers = { 'idempotency-key': 'before-the-outage' };
  const made = await ask('POST', '/v1/keys', { headers, body: { plan: 'free' } });
  assert.equal(made.status, 201);
  const path = `/v1/keys/${made.body.key.id}`;
  redis.signal('SIGSTOP');
  const [shown, verified, disabled] = await Promise.all([
    ask('GET', path),
    ask('POST', '/v1/verify', { body: { secret: 'unknown-here' } }),
    ask('POST', `${path}/disable`),
  ]);
  const silent = [503, 'The store does not answer'];
  assert.deepEqual([shown.status, shown.body.error], silent);
  assert.deepEqual([verified.status, verified.body.error], silent);
  assert.equal(disabled.status, 503);
  assert.match(disabled.body.error, /It may have been done all the same: look before you repeat it$/);

  redis.signal('SIGCONT');
  await redis.stop();
  const away = await ask('GET', path);
  assert.deepEqual(
    [away.status, away.body.code, away.headers.get('retry-after')],
    [503, 'store_unavailable', '1'],
  );
  const broken = await ask('POST', '/v1/import', {
    headers: { 'content-type': 'text/csv' },
    body: 'secret,plan\nforeign-secret-000001,free\n',
  });
  assert.deepEqual([broken.status, broken.body.report.added], [503, 0]);
  assert.equal((await fetch(`${gateways[0]!.adminUrl}/livez`)).status, 200);
  await redis.start();
  await until(async () => (await ask('GET', '/v1/keys')).status === 200);
});

async function open(gateways: readonly Gateway[]): Promise<Scene> {
  const [ask, other] = await Promise.all(
    [gateways[0]!, gateways.at(-1)!].map(({ adminUrl }) => createAdminClient(adminUrl, writer)),
  );
  return { ask: ask!, other: other!, gateways };
}

/** Asks each gateway, and where there are workers both of them, as far as the kernel deals them out. */
async function call(gateways: readonly Gateway[], key: string): Promise<number[]> {
  const asked =
    gateways.length > 1 ? gateways : gateways.flatMap((gateway) => [gateway, gateway, gateway, gateway]);
  return Promise.all(asked.map((gateway) => gateway.statusFor(key)));
}

/** Megabytes of objects and buffers, in use or not yet collected. */
async function heldBy(gateway: Gateway): Promise<number> {
  const text = await gateway.metrics();
  const [heap, external] = ['heap_size_used', 'external_memory'].map((name) =>
    Number(new RegExp(`^nodejs_${name}_bytes (\\d+)$`, 'm').exec(text)?.[1]),
  );
  return (heap! + external!) / 1024 / 1024;
}
