import assert from 'node:assert/strict';
import { Writable } from 'node:stream';
import { test, type TestContext } from 'node:test';
import { fileURLToPath } from 'node:url';
import { check } from '../../../src/commands/check.ts';
import { writeTemporary } from '../../helpers/config-file.ts';

const base = `upstreams: { a: { targets: ["http://h"] } }
routes: [{ path: /x, methods: [GET], upstream: a }]
`;
const example = fileURLToPath(new URL('../../../config/gateway.yaml', import.meta.url));

function run(file: string, env: NodeJS.ProcessEnv = {}) {
  const written = { stdout: '', stderr: '' };
  const into = (name: 'stdout' | 'stderr') =>
    new Writable({
      write(chunk, _encoding, done) {
        written[name] += String(chunk);
        done();
      },
    });
  return { code: check(file, { env, stdout: into('stdout'), stderr: into('stderr') }), ...written };
}

test('the example is in order, and its summary fits a screen without the key', () => {
  const { code, stdout, stderr } = run(example, { DEMO_KEY: 'a-demo-key-for-this-test' });
  assert.equal(code, 0);
  assert.equal(stderr, '');
  assert.match(stdout, /is in order/);
  assert.match(
    stdout,
    /free \(1 static key\): monthly 1000 per month \(warns at 80%\), 10 per second \(burst 20\), 8 at once\n/,
  );
  assert.match(
    stdout,
    /POST {2}\/v1\/voice-gender-recognition\/api\/name +→ recognition {2}JSON ≤ 16 KB, schema/,
  );
  assert.ok(stdout.split('\n').length < 25);
  assert.ok(!stdout.includes('a-demo-key'));
  assert.ok(!stdout.includes('\u001B'));
});

test('the summary says in which headers the key may come, and whether it is passed on', (t) => {
  for (const [auth, said] of [
    ['{}', 'apiKey'],
    ['{ header: [apiKey, X-API-Key, Authorization] }', 'apiKey, X-API-Key or Authorization'],
    ['{ header: [X-API-Key], forwardKey: true }', 'X-API-Key (passed on to upstreams)'],
  ]) {
    const { stdout } = run(writeTemporary(t, `${base}auth: ${auth}`));
    assert.equal(/^ {2}key header +(.*)$/m.exec(stdout)?.[1], said);
  }
});

test('the summary says when each quota starts anew, and from where on it warns', (t) => {
  const file = writeTemporary(
    t,
    `${base}plans:
  p:
    quotas:
      - { name: hourly, limit: 1, per: hour, warnAt: 80% }
      - { name: daily, limit: 2, per: day, at: "06:30" }
      - { name: weekly, limit: 3, per: week, anchor: sunday, timezone: Europe/Berlin }
      - { name: monthly, limit: 4, per: month, anchor: 15, at: "06:00", timezone: Europe/Berlin, warnAt: 9% }
      - { name: yearly, limit: 5, per: year, anchor: 04-01 }
      - { name: once, limit: 6, per: lifetime, warnAt: 100% }
`,
  );
  const { stdout } = run(file);
  const quotas = [
    'hourly 1 per hour (warns at 80%)',
    'daily 2 per day (at 06:30)',
    'weekly 3 per week (from sunday, Europe/Berlin)',
    'monthly 4 per month (from 15 at 06:00, Europe/Berlin, warns at 9%)',
    'yearly 5 per year (from 04-01)',
    'once 6 for life (warns at 100%)',
  ];
  assert.ok(stdout.includes(quotas.join(', ')), stdout);
});

test('the summary says what a plan limits, and which of its choices are no defaults', (t) => {
  const file = writeTemporary(
    t,
    `${base}plans:
  free: {}
  even: { rate: { limit: 5, per: minute } }
  many: { concurrency: { limit: 3, shared: true } }
  last: { quotas: [{ name: m, limit: 1, per: month }], charge: forwarded, consistency: strict, onStoreFailure: allow }
`,
  );
  const { stdout } = run(file);
  for (const [plan, limits] of [
    ['free', 'no limits'],
    ['even', '5 per minute'],
    ['many', '3 at once in all processes'],
    ['last', 'm 1 per month, charge forwarded, strict, allowed without the store'],
  ])
    assert.ok(stdout.includes(`${plan} (0 static keys): ${limits}\n`), stdout);
});

test('all errors are printed with their count, and the code is 1', (t) => {
  const file = writeTemporary(t, 'listn: 1\nlog: { levl: info }\n');
  const { code, stdout, stderr } = run(file);
  assert.equal(code, 1);
  assert.equal(stdout, '');
  assert.match(stderr, /:1:1: listn: unknown option, did you mean "listen"\?\n/);
  assert.match(stderr, /:2:8: log\.levl: unknown option, did you mean "level"\?\n/);
  assert.match(stderr, /4 errors in /);
});

test('errors are counted, those that are too many to be printed too, and one is called one', (t) => {
  const lines = Array.from({ length: 105 }, (_, at) => `wrong${at}: 1\n`);
  const { stderr } = run(writeTemporary(t, lines.join('')));
  assert.match(stderr, /\n… and 7 more\n107 errors in /);
  const file = writeTemporary(t, base.replace('upstream: a', 'upstream: b'));
  assert.ok(run(file).stderr.endsWith(`\n1 error in ${file}\n`));
});

/** The lines of the summary that are about the gateway as a whole. */
function factsOf(t: TestContext, yaml: string): readonly string[] {
  const [, , ...lines] = run(writeTemporary(t, yaml)).stdout.split('\n');
  return lines.slice(0, lines.indexOf('')).map((line) => line.trim().replace(/ {2,}/, ': '));
}

test('the summary of a file that says little has what is so where nothing is said', (t) => {
  assert.deepEqual(factsOf(t, base), [
    'listen: 0.0.0.0:8080',
    'admin: 127.0.0.1:9090 (loopback only, no token, no admin API)',
    'store: sqlite ./data/gatehouse.db',
    'key header: apiKey',
    'plans: none',
    'upstreams: a → http://h',
    'versions: none',
  ]);
});

test('the summary has workers, admin tokens, plans, versions and the path for usage', (t) => {
  const more = `workers: 3
admin: { token: a-token-of-enough-letters, tokens: [{ name: ada, token: another-of-enough-letters, role: read }] }
plans: { free: {}, paid: {} }
versions:
  v1: { upstream: a, deprecated: 2026-01-01, sunset: 2027-01-01, afterSunset: gone }
  v2: { upstream: a }
usage: { path: /usage }
`;
  assert.deepEqual(factsOf(t, base + more), [
    'listen: 0.0.0.0:8080',
    'admin: 127.0.0.1:9090 (tokens: admin (write), ada (read))',
    'workers: 3',
    'store: sqlite ./data/gatehouse.db',
    'key header: apiKey',
    'plans: free (0 static keys): no limits',
    'paid (0 static keys): no limits',
    'upstreams: a → http://h',
    'versions: v1 → a (deprecated 2026-01-01, sunset 2027-01-01, then gone), v2 → a',
    'usage: /usage',
  ]);
});

test('a file that is not there is one line and code 1', () => {
  const { code, stderr } = run('/does/not/exist.yaml');
  assert.equal(code, 1);
  assert.equal(
    stderr,
    '/does/not/exist.yaml cannot be read: there is no such file (--config FILE names the file)\n',
  );
});

test('a schema that only reports is named, in the list of routes and by a warning', (t) => {
  const bodies = [
    'json: { schema: {} }',
    'json: { schema: {}, onMismatch: report }',
    'upload: { files: {}, fields: { schema: {}, onMismatch: report } }',
  ];
  const routes = bodies.map(
    (body, at) => `  - { path: /${at}, methods: [POST], upstream: a, body: { ${body} } }`,
  );
  const { stdout } = run(
    writeTemporary(t, `${base.trimEnd().split('\n')[0]}\nroutes:\n${routes.join('\n')}\n`),
  );
  assert.match(stdout, /JSON ≤ 64 KB, schema +cost/);
  assert.match(stdout, /JSON ≤ 64 KB, schema \(only reported\) +cost/);
  assert.match(stdout, /: no files, schema \(only reported\), whole +cost/);
  assert.deepEqual(
    stdout.match(/(?<=^warning \S+: ).*(?=: what does not fit the schema is forwarded all the same$)/gm),
    ['routes[1].body.json.onMismatch', 'routes[2].body.upload.fields.onMismatch'],
  );
});

test('the summary says what a route is called at an upstream that has another base path', (t) => {
  const file = writeTemporary(
    t,
    `basePath: /api
upstreams:
  a: { targets: ["http://h"], basePath: / }
  b: { targets: ["http://h"], basePath: /internal/v2 }
  c: { targets: ["http://h"], basePath: /api }
routes:
  - { path: /, methods: [GET], upstream: a }
  - { path: /a/:id, methods: [GET], upstream: a }
  - { path: /b/*, methods: [GET], upstream: b }
  - { path: /c, methods: [GET], upstream: c }
`,
  );
  assert.deepEqual(
    run(file)
      .stdout.match(/\/api.*(?= +no body)/g)
      ?.map((line) => line.trim().split(/ +/)),
    [
      ['/api', '→', 'a', 'as', '/'],
      ['/api/a/:id', '→', 'a', 'as', '/a/:id'],
      ['/api/b/*', '→', 'b', 'as', '/internal/v2/b/*'],
      ['/api/c', '→', 'c'],
    ],
  );
});

test('warnings are part of the summary', (t) => {
  const file = writeTemporary(t, `${base}plans: { p: {} }\nkeys: [{ id: k, plan: p, secret: short }]\n`);
  assert.match(run(file).stdout, /warning .*keys\[0\]\.secret: is shorter than 16 characters/);
});

test('the store is shown without its user and password', (t) => {
  const file = writeTemporary(
    t,
    `${base}store: rediss+sentinel://ada:swordfish@s1,s2:9/main/3?sentinelPassword=marlin\n`,
  );
  const { stdout } = run(file);
  assert.match(stdout, /store +redis main of sentinels s1:26379 s2:9, database 3, TLS\n/);
  assert.doesNotMatch(stdout, /ada|swordfish|marlin/);
});

test('a store is shown with its servers, and its database if that has a number', (t) => {
  for (const [store, shown] of [
    ['sqlite:./keys.db', 'sqlite ./keys.db'],
    ['redis://[::1]:7', 'redis [::1]:7'],
    ['redis+cluster://n1,n2:9', 'redis cluster n1:6379 n2:9'],
  ]) {
    const { stdout } = run(writeTemporary(t, `${base}store: ${JSON.stringify(store)}\n`));
    assert.match(stdout, new RegExp(`^ {2}store +${RegExp.escape(shown ?? '')}$`, 'm'));
  }
});

test('uploads, upgrades and health checks are part of the summary', (t) => {
  const file = writeTemporary(
    t,
    `upstreams: { a: { targets: ["http://h", "http://i"], health: /healthz }, b: { targets: ["http://j"], health: "/up?token=t0ken" } }
routes:
  - path: /form
    methods: [POST]
    upstream: a
    body: { upload: { maxSize: 2MB, files: { file: { maxSize: 1MB, types: [audio/wav] }, more: { required: false } } } }
  - { path: /open, methods: [POST], upstream: a, body: { upload: { maxSize: 2MB, files: {}, others: allow } } }
  - { path: /file, methods: [PUT], upstream: a, body: { file: { forward: stream } } }
  - { path: /live, methods: [GET], upstream: a, upgrade: websocket }
`,
  );
  const { stdout } = run(file);
  assert.match(stdout, /upstreams +a → http:\/\/h http:\/\/i \(health \/healthz\)/);
  assert.match(stdout, /b → http:\/\/j \(health \/up\?…\)/);
  assert.match(stdout, /\/form .*form ≤ 2 MB: file ≤ 1 MB \(audio\/wav\), more\? ≤ 2 MB, whole/);
  assert.match(stdout, /\/open .*form ≤ 2 MB: any files, whole/);
  assert.match(stdout, /\/file .*file ≤ 10 MB, streamed/);
  assert.match(stdout, /\/live .*no body .*WebSocket/);
});
