import assert from 'node:assert/strict';
import { hash } from 'node:crypto';
import { syncBuiltinESMExports } from 'node:module';
import os, { availableParallelism } from 'node:os';
import { resolve } from 'node:path';
import { test } from 'node:test';
import { loadConfig } from '../../../src/config/load-config.ts';
import { ConfigUnreadable } from '../../../src/config/problems.ts';
import { writeTemporary } from '../../helpers/config-file.ts';

/** The least that loads; on line 1 and 2, so that what is added starts on line 3. */
const least = `upstreams: { a: { targets: ["http://127.0.0.1:9000"] } }
routes: [{ path: /x, methods: [GET], upstream: a }]
`;

/** A route list of its own, with one upstream and one version, on lines 3 and following. */
const routed = `upstreams: { a: { targets: ["http://127.0.0.1:9000"] } }
versions: { v1: { upstream: a } }
`;

test('a configuration is frozen all the way down and keeps no secret', (t) => {
  const secret = 'a-secret-of-the-demo-key';
  const text = `${least}plans: { free: {} }\nkeys: [{ id: demo, plan: free, secret: ${secret} }]\n`;
  const config = loadConfig(writeTemporary(t, text), {});
  assert.equal(config.keys[0]?.digest, hash('sha256', secret));
  assert.ok(!JSON.stringify(config).includes(secret));
  assert.ok(
    Object.isFrozen(config.limits) &&
      Object.isFrozen(config.keys[0]) &&
      Object.isFrozen(config.upstreams.get('a')?.targets),
  );
});

test('the base path is a part of every route', (t) => {
  const text = `${routed}basePath: /api\nroutes:\n  - { path: /v1/x, methods: [GET] }\n  - { path: /, methods: [GET], upstream: a }\n`;
  const { routes } = loadConfig(writeTemporary(t, text), {});
  assert.deepEqual(
    routes.map(({ path }) => path),
    ['/api/v1/x', '/api'],
  );
  assert.equal(routes[0]?.version?.name, 'v1');
});

test('an address is understood in each of its forms, from the environment too', (t) => {
  const listenOf = (written: string) =>
    loadConfig(writeTemporary(t, `${least}listen: ${written}\n`), { PORT: '4000' }).listen;
  assert.deepEqual(listenOf('8080'), { host: '0.0.0.0', port: 8080 });
  assert.deepEqual(listenOf('":8080"'), { host: '0.0.0.0', port: 8080 });
  assert.deepEqual(listenOf('"[::1]:8080"'), { host: '::1', port: 8080 });
  assert.deepEqual(listenOf('localhost:0'), { host: 'localhost', port: 0 });
  assert.deepEqual(listenOf('${PORT}'), { host: '0.0.0.0', port: 4000 });
});

test('text from the environment becomes a number or a boolean where one is wanted, and only there', (t) => {
  const text = `${least}plans: { free: { concurrency: "\${C:-8}" } }
keys: [{ id: demo, plan: free, secret: "\${SECRET}" }]
forwarded: \${YES}
workers: \${WORKERS:-2}
`;
  const read = (env: NodeJS.ProcessEnv) => {
    const { workers, plans, keys, forwarded } = loadConfig(writeTemporary(t, text), { ...env, YES: 'true' });
    return [workers, plans.get('free')?.concurrency?.limit, keys[0]?.digest, forwarded];
  };
  const SECRET = '1234567890123456';
  const digest = hash('sha256', SECRET);
  assert.deepEqual(read({ SECRET }), [2, 8, digest, true]);
  assert.deepEqual(read({ SECRET, WORKERS: 'auto', C: '3' }), [availableParallelism(), 3, digest, true]);
});

test('workers: auto stays what it was at the start, however many cores there are when the file is read again', (t) => {
  const text = `${least}workers: auto\n`;
  const atStart = loadConfig(writeTemporary(t, text), {}).workers;
  t.mock.method(os, 'availableParallelism', () => atStart + 3);
  syncBuiltinESMExports();
  t.after(() => {
    t.mock.restoreAll();
    syncBuiltinESMExports();
  });
  assert.equal(loadConfig(writeTemporary(t, text), {}).workers, atStart);
});

test('a file that is not there is not a file with errors', () => {
  assert.throws(() => loadConfig('/does/not/exist.yaml', {}), {
    name: ConfigUnreadable.name,
    message: '/does/not/exist.yaml cannot be read: there is no such file',
  });
  // `npm start` runs in the folder of the checkout, wherever it is typed.
  assert.throws(() => loadConfig('not/here.yaml', {}), {
    message: `${resolve('not/here.yaml')} cannot be read: there is no such file`,
  });
});

test('a plan is completed, so that no request thinks about defaults', (t) => {
  const text = `${least}plans:
  full:
    quotas:
      - { name: day, limit: 9007199254740991, per: day, at: "06:30" }
      - { name: week, limit: 5, per: week, anchor: sunday }
      - { name: month, limit: 5, per: month, anchor: 31 }
      - { name: year, limit: 5, per: year, anchor: 04-06 }
      - { name: life, limit: 5, per: lifetime }
    rate: { limit: 10, per: minute }
  plain: { concurrency: 8 }
`;
  const { plans } = loadConfig(writeTemporary(t, text), {});
  const { quotas, rate } = plans.get('full')!;
  assert.deepEqual(rate, { limit: 10, perMs: 60_000, burst: 10 });
  const utc = { timezone: 'UTC', anchorMonth: 1, anchorDay: 1, anchorMinute: 0 };
  assert.deepEqual(
    quotas.map(({ period }) => period),
    [
      { ...utc, per: 'day', anchorMinute: 390 },
      { ...utc, per: 'week', anchorDay: 7 },
      { ...utc, per: 'month', anchorDay: 31 },
      { ...utc, per: 'year', anchorMonth: 4, anchorDay: 6 },
      { ...utc, per: 'lifetime' },
    ],
  );
  assert.equal(quotas[0]?.limit, Number.MAX_SAFE_INTEGER);
  assert.deepEqual(plans.get('plain'), {
    name: 'plain',
    quotas: [],
    rate: undefined,
    concurrency: { limit: 8, shared: false },
    charge: 'answered',
    consistency: 'leased',
    onStoreFailure: 'refuse',
  });
});

test('invalid keys may be let be, however many one network sends', (t) => {
  const file = writeTemporary(t, `${least}auth: { guessing: { enabled: false } }\n`);
  assert.equal(loadConfig(file, {}).auth.guessing, undefined);
});

test('a form knows which of its fields may come more than once', (t) => {
  const properties =
    'tags: { type: array }, title: { type: string }, note: { type: [string, array] }, any: true';
  const fields = `{ schema: { properties: { ${properties} } } }`;
  const route = `{ path: /v1/x, methods: [POST], body: { upload: { files: { f: {} }, fields: ${fields} } } }`;
  const [form] = loadConfig(writeTemporary(t, `${routed}routes: [${route}]\n`), {}).routes;
  assert.ok(form?.body.kind === 'upload' && form.body.upload.kind === 'form');
  const kinds = new Map(Object.entries({ tags: 'list', title: 'text', note: 'either', any: 'text' }));
  assert.deepEqual(form.body.upload.fields.schema?.kinds, kinds);
});
