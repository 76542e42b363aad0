import assert from 'node:assert/strict';
import { test } from 'node:test';
import { takeOver } from '../../../src/config/hand-over.ts';
import { loadConfig, readConfig } from '../../../src/config/load-config.ts';
import { writeTemporary } from '../../helpers/config-file.ts';

const env = {
  KEY: 'a-secret-of-the-environment',
  TOKEN: 'a-token-of-the-environment',
  NAMED: 'a-token-with-a-name-of-its-own',
};
const yaml = `
workers: 2
admin: { token: "\${TOKEN}", tokens: [{ name: ann, role: read, token: "\${NAMED}" }] }
store: redis://:a-password@127.0.0.1:6379
plans: { free: {}, few: { quotas: [{ name: day, limit: 10, per: day }] } }
keys:
  - { id: one, plan: free, secret: "\${KEY}" }
  - { id: two, plan: few, hash: "sha256:${'AB'.repeat(32)}", enabled: false, expires: 2031-01-01 }
upstreams: { a: { targets: ["http://127.0.0.1:9000"] } }
versions: { v1: { upstream: a, deprecated: 2026-01-01 } }
routes:
  - path: /v1/x
    methods: [POST]
    body: { json: { schema: { type: object, properties: { n: { type: number, maximum: 7 } } } } }
  - { path: /v1/y, methods: [GET] }
`;

test('who takes a configuration over has what was read, and no secret of a caller or operator', (t) => {
  const file = writeTemporary(t, yaml);
  const { raw } = readConfig(file, env);
  const handed = structuredClone({ file, raw });
  for (const secret of Object.values(env)) assert.ok(!JSON.stringify(handed).includes(secret));

  const { routes, warnings: _, ...rest } = takeOver(handed);
  const { routes: readRoutes, warnings: __, ...readRest } = loadConfig(file, env);
  assert.deepEqual(rest, readRest);
  const [body] = routes.map((route) => route.body);
  assert.ok(body?.kind === 'json');
  assert.equal(body.schema?.check({ n: 7 }), undefined);
  assert.match(body.schema?.check({ n: 8 }) ?? '', /n /);
  const plain = (all: typeof routes) =>
    all.map((route) => ({ ...route, body: { ...route.body, schema: undefined } }));
  assert.deepEqual(plain(routes), plain(readRoutes));
});
