import assert from 'node:assert/strict';
import { hash } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { test } from 'node:test';
import { parse } from 'yaml';
import type { Config } from '../../../src/config/config.ts';
import { loadConfig } from '../../../src/config/load-config.ts';
import { ConfigErrors } from '../../../src/config/problems.ts';
import { schema } from '../../../src/config/schema.ts';
import { makeCertificate } from '../../helpers/certificates.ts';
import { writeTemporary } from '../../helpers/config-file.ts';

/** Every option there is, none of them at its default. */
const full = `
listen: 127.0.0.1:18080
admin:
  listen: 127.0.0.1:19090
  token: token-of-the-old-way
  tokens:
    - { name: ada, token: token-of-ada-lovelace, role: write }
    - { name: eve, hash: 'sha256:${'B'.repeat(64)}' }
basePath: /api
workers: 3
trustProxy: [10.0.0.0/8]
store: redis://127.0.0.1:6380/2
storeDeadline: 1s
auth:
  header: [X-Key, X-Old-Key]
  forwardKey: true
  cacheFor: 5s
  graceOnOutage: 1h
  prefix: acme
  guessing: { enabled: true, failures: 7, per: 2m }
plans:
  full:
    quotas:
      - { name: monthly, limit: 5, per: month, timezone: Europe/Berlin, anchor: 31, at: '06:30', warnAt: 80% }
    rate: { limit: 10, per: hour, burst: 4 }
    concurrency: { limit: 3, shared: true }
    charge: success
    consistency: strict
    onStoreFailure: allow
keys:
  - { id: one, plan: full, owner: ' Müller ', secret: secret-of-the-first-key, enabled: false, expires: 2099-01-01 }
  - { id: two, plan: full, hash: 'sha256:${'c'.repeat(64)}' }
upstreams:
  old:
    targets: ['http://127.0.0.1:9001', 'https://localhost:9002']
    timeouts: { connect: 1s, response: 20s, idle: 3m }
    health: { path: '/up?full', every: 30s, timeout: 500ms, host: api.example.org }
    connections: 7
    preserveHost: true
    ca: CERTIFICATE
  new: { targets: ['http://127.0.0.1:9003'], basePath: /new, health: /healthz }
versions:
  v1:
    upstream: old
    deprecated: 2026-01-01
    sunset: 2098-01-01
    link: https://example.org/v1
    afterSunset: gone
routes:
  - name: names
    path: /v1/names
    methods: [POST]
    upstream: new
    cost: 3
    costHeader: X-Cost
    body:
      json:
        { maxSize: 1KB, maxDepth: 4, maxValues: 50, suffixed: true, schema: { required: [name] }, onMismatch: report }
  - path: /v1/form
    methods: [POST]
    body:
      upload:
        maxSize: 2MB
        minRate: 2KB
        timeout: 1m
        files:
          voice:
            { required: false, maxCount: 2, maxSize: 1MB, minSize: 2B, types: [audio/*], extensions: [wav], nameLength: 9 }
        others: allow
        fields: { maxCount: 2, maxSize: 3KB, names: [title], schema: { required: [title] }, onMismatch: report }
        forward: stream
  - path: /v1/file
    methods: [PUT]
    body:
      file: { maxSize: 3MB, minSize: 3B, types: [audio/wav], minRate: 3KB, timeout: 2m, forward: stream }
  - { path: /v1/any, methods: [PUT], body: { any: { maxSize: 4KB, minRate: 4KB, timeout: 4m } } }
  - { path: /v1/feed, methods: [GET], upgrade: { websocket: { idleTimeout: 1m, maxSockets: 5 } } }
usage: { path: /v1/usage }
errors:
  route_unknown: { status: 410, message: gone, fields: { see: elsewhere } }
limits:
  connections: 11
  inFlight: 12
  inFlightPerConnection: 13
  headerSize: 14KB
  headerCount: 15
  headerTimeout: 16s
  requestTimeout: 17s
  keepAlive: 18s
  stalledReader: 19s
  bodyMemory: 20MB
spool: { memory: 21MB, disk: 22MB, directory: /var/tmp }
forwarded: true
drain: { delay: 23s, timeout: 24s }
log: { level: debug, format: json }
`;

/** What the gateway runs on then. */
const resolved = (cert: string): string => `
listen: { host: 127.0.0.1, port: 18080 }
admin:
  listen: { host: 127.0.0.1, port: 19090 }
  tokens:
    - { name: admin, digest: '${hash('sha256', 'token-of-the-old-way')}', role: write }
    - { name: ada, digest: '${hash('sha256', 'token-of-ada-lovelace')}', role: write }
    - { name: eve, digest: ${'b'.repeat(64)}, role: read }
workers: 3
trustProxy: [10.0.0.0/8]
store:
  kind: redis
  servers: { kind: single, address: { host: 127.0.0.1, port: 6380 } }
  db: 2
  prefix: 'gatehouse:'
storeDeadlineMs: 1000
auth:
  headers: [X-Key, X-Old-Key]
  forwardKey: true
  cacheForMs: 5000
  graceOnOutageMs: 3600000
  prefix: acme
  guessing: { failuresMax: 7, perMs: 120000 }
plans:
  full:
    name: full
    quotas:
      - name: monthly
        limit: 5
        period: { per: month, timezone: Europe/Berlin, anchorMonth: 1, anchorDay: 31, anchorMinute: 390 }
        warnAt: 80
    rate: { limit: 10, perMs: 3600000, burst: 4 }
    concurrency: { limit: 3, shared: true }
    charge: success
    consistency: strict
    onStoreFailure: allow
keys:
  - id: one
    plan: full
    owner: Müller
    digest: '${hash('sha256', 'secret-of-the-first-key')}'
    enabled: false
    expiresAt: ${Date.UTC(2099, 0, 1)}
  - { id: two, plan: full, owner: '', digest: ${'c'.repeat(64)}, enabled: true }
upstreams:
  old:
    name: old
    targets: ['http://127.0.0.1:9001', 'https://localhost:9002']
    timeouts: { connectMs: 1000, responseMs: 20000, idleMs: 180000 }
    health: { path: '/up?full', everyMs: 30000, timeoutMs: 500, host: api.example.org }
    connections: 7
    preserveHost: true
    ca: ${JSON.stringify(cert)}
  new:
    name: new
    targets: ['http://127.0.0.1:9003']
    timeouts: { connectMs: 2000, responseMs: 30000, idleMs: 60000 }
    health: { path: /healthz, everyMs: 10000, timeoutMs: 2000 }
    connections: 256
    preserveHost: false
versions:
  v1: &v1
    name: v1
    upstream: old
    deprecatedAt: ${Date.UTC(2026, 0, 1)}
    sunsetAt: ${Date.UTC(2098, 0, 1)}
    link: https://example.org/v1
    afterSunset: gone
routes:
  - name: names
    path: /api/v1/names
    methods: [POST]
    upstream: new
    rebase: { from: /api, to: /new, path: /new/v1/names }
    version: *v1
    cost: 3
    costHeader: x-cost
    body:
      kind: json
      sizeMax: 1024
      depthMax: 4
      valuesMax: 50
      suffixed: true
      schema: { check: a check, onMismatch: report }
  - name: /api/v1/form
    path: /api/v1/form
    methods: [POST]
    upstream: old
    version: *v1
    cost: 1
    body:
      kind: upload
      upload:
        kind: form
        sizeMax: ${2 * 1024 ** 2}
        files:
          voice:
            required: false
            countMax: 2
            sizeMax: ${1024 ** 2}
            sizeMin: 2
            types: [audio/*]
            extensions: [wav]
            nameLengthMax: 9
        fields:
          countMax: 2
          sizeMax: 3072
          names: [title]
          schema: { check: a check, onMismatch: report, kinds: {} }
        others: allow
        forward: stream
      arrival: { timeoutMs: 60000, bytesPerSecondMin: 2048 }
  - name: /api/v1/file
    path: /api/v1/file
    methods: [PUT]
    upstream: old
    version: *v1
    cost: 1
    body:
      kind: upload
      upload: { kind: file, sizeMax: ${3 * 1024 ** 2}, sizeMin: 3, types: [audio/wav], forward: stream }
      arrival: { timeoutMs: 120000, bytesPerSecondMin: 3072 }
  - name: /api/v1/any
    path: /api/v1/any
    methods: [PUT]
    upstream: old
    version: *v1
    cost: 1
    body: { kind: any, sizeMax: 4096, arrival: { timeoutMs: 240000, bytesPerSecondMin: 4096 } }
  - name: /api/v1/feed
    path: /api/v1/feed
    methods: [GET, HEAD]
    upstream: old
    version: *v1
    cost: 1
    body: { kind: none }
    upgrade: { idleMs: 60000, socketsMax: 5 }
usagePath: /api/v1/usage
errors: { route_unknown: { status: 410, message: gone, fields: { see: elsewhere } } }
limits:
  connections: 11
  inFlight: 12
  inFlightPerConnection: 13
  headerBytes: ${14 * 1024}
  headerCount: 15
  headerTimeoutMs: 16000
  requestTimeoutMs: 17000
  keepAliveMs: 18000
  stalledReaderMs: 19000
  bodyMemory: ${20 * 1024 ** 2}
spool: { memoryMax: ${21 * 1024 ** 2}, diskMax: ${22 * 1024 ** 2}, directory: /var/tmp }
forwarded: true
drain: { delayMs: 23000, timeoutMs: 24000 }
log: { level: debug, format: json }
warnings:
  - 'routes[0].body.json.onMismatch: what does not fit the schema is forwarded all the same'
  - 'routes[1].body.upload.fields.onMismatch: what does not fit the schema is forwarded all the same'
`;

/** The least that loads, with each kind of body and the upgrade as if they were left out. */
const least = `
upstreams: { a: { targets: ["http://127.0.0.1:9000"] } }
routes:
  - { path: /x, methods: [GET], upstream: a }
  - { path: /j, methods: [POST], upstream: a, body: { json: {} } }
  - { path: /a, methods: [POST], upstream: a, body: { any: {} } }
  - { path: /u, methods: [POST], upstream: a, body: { upload: { files: { file: {} } } } }
  - { path: /f, methods: [POST], upstream: a, body: { file: {} } }
  - { path: /w, methods: [GET], upstream: a, upgrade: websocket }
`;
const defaults = `
listen: { host: 0.0.0.0, port: 8080 }
admin: { listen: { host: 127.0.0.1, port: 9090 }, tokens: [] }
workers: 1
trustProxy: []
store: { kind: sqlite, path: ./data/gatehouse.db }
storeDeadlineMs: 250
auth:
  headers: [apiKey]
  forwardKey: false
  cacheForMs: 60000
  graceOnOutageMs: 900000
  prefix: gh
  guessing: { failuresMax: 1000, perMs: 60000 }
plans: {}
keys: []
upstreams:
  a:
    name: a
    targets: ['http://127.0.0.1:9000']
    timeouts: { connectMs: 2000, responseMs: 30000, idleMs: 60000 }
    connections: 256
    preserveHost: false
versions: {}
routes:
  - { name: /x, path: /x, methods: [GET, HEAD], upstream: a, cost: 1, body: { kind: none } }
  - name: /j
    path: /j
    methods: [POST]
    upstream: a
    cost: 1
    body: { kind: json, sizeMax: ${64 * 1024}, depthMax: 32, valuesMax: 200000, suffixed: false }
  - name: /a
    path: /a
    methods: [POST]
    upstream: a
    cost: 1
    body: { kind: any, sizeMax: ${1024 ** 2}, arrival: { timeoutMs: 30000, bytesPerSecondMin: 0 } }
  - name: /u
    path: /u
    methods: [POST]
    upstream: a
    cost: 1
    body:
      kind: upload
      upload:
        kind: form
        sizeMax: ${12 * 1024 ** 2}
        files:
          file: { required: true, countMax: 1, sizeMax: ${12 * 1024 ** 2}, sizeMin: 1, nameLengthMax: 255 }
        fields: { countMax: 20, sizeMax: ${16 * 1024} }
        others: refuse
        forward: whole
      arrival: &slow { timeoutMs: 600000, bytesPerSecondMin: 1024 }
  - name: /f
    path: /f
    methods: [POST]
    upstream: a
    cost: 1
    body:
      kind: upload
      upload: { kind: file, sizeMax: ${10 * 1024 ** 2}, sizeMin: 1, forward: whole }
      arrival: *slow
  - name: /w
    path: /w
    methods: [GET, HEAD]
    upstream: a
    cost: 1
    body: { kind: none }
    upgrade: { idleMs: 300000, socketsMax: 256 }
errors: {}
limits:
  connections: 10000
  inFlight: 1000
  inFlightPerConnection: 10
  headerBytes: ${16 * 1024}
  headerCount: 100
  headerTimeoutMs: 10000
  requestTimeoutMs: 30000
  keepAliveMs: 5000
  stalledReaderMs: 60000
  bodyMemory: ${256 * 1024 ** 2}
spool: { memoryMax: ${16 * 1024 ** 2}, diskMax: ${1024 ** 3}, directory: ${JSON.stringify(tmpdir())} }
forwarded: false
drain: { delayMs: 0, timeoutMs: 30000 }
log: { level: info, format: auto }
warnings: []
`;

test('every option that is written is the one that the gateway runs on', (t) => {
  const { cert } = makeCertificate(t, ['DNS:localhost']);
  const text = full.replace('CERTIFICATE', JSON.stringify(cert));
  assert.deepEqual(plain(loadConfig(writeTemporary(t, text), {})), parse(resolved(cert)));
});

test('the least file gets every documented default', (t) => {
  assert.deepEqual(plain(loadConfig(writeTemporary(t, least), {})), parse(defaults));
});

test('no option is without effect: what is left out is missed, or falls back to its default', (t) => {
  const { cert } = makeCertificate(t, ['DNS:localhost']);
  const whole = parse(full) as Part;
  const file = writeTemporary(t, '');
  const before = readOrErrors(file, whole, cert);
  const written = placesIn(schema, whole);
  const known = new Set(optionsOf(schema));
  assert.deepEqual(
    [...known].filter((option) => !written.some((place) => place.option === option)),
    [],
  );
  for (const { option, steps } of written) {
    // Nothing but false makes a difference, and then its neighbours make none.
    if (option === '.auth.guessing.enabled') continue;
    const parts = structuredClone(whole);
    const last = steps.at(-1) ?? '';
    const holder = steps.slice(0, -1).reduce<Part>((part, step) => part[step] as Part, parts);
    delete holder[last];
    assert.notDeepEqual(readOrErrors(file, parts, cert), before, `${steps.join('.')} is read by nobody`);
  }
});

type Part = Record<string, unknown>;

function readOrErrors(file: string, parts: Part, cert: string): unknown {
  writeFileSync(file, JSON.stringify(parts).replace('"CERTIFICATE"', JSON.stringify(cert)));
  try {
    return plain(loadConfig(file, {}));
  } catch (error) {
    if (!(error instanceof ConfigErrors)) throw error;
    return 'errors';
  }
}

/** As JSON would have it, with a word for each check of a body: two that do the same are not equal. Warnings are without a place. */
function plain(loaded: Config): unknown {
  const { file: _file, ...config } = loaded;
  const warnings = config.warnings.map((warning) => warning.replace(/^\S+:\d+:\d+: /, ''));
  const text = JSON.stringify({ ...config, warnings }, (_name, value: unknown) => {
    if (typeof value === 'function') return 'a check';
    return value instanceof Map ? Object.fromEntries(value) : value;
  });
  return JSON.parse(text);
}

/** The options of a part of the schema: `.plans.*.rate.limit`. */
function optionsOf(part: object, at = ''): readonly string[] {
  const inner = innerOf(part).flatMap(([name, under]) => optionsOf(under, `${at}.${name}`));
  const isOption = at !== '' && !at.endsWith('*');
  return isOption ? [at, ...inner] : inner;
}

interface Place {
  readonly option: string;
  readonly steps: readonly string[];
}

/** The options that stand in the file, and where. */
function placesIn(
  part: object,
  value: unknown,
  option = '',
  steps: readonly string[] = [],
): readonly Place[] {
  if (typeof value !== 'object' || value === null) return [];
  return innerOf(part).flatMap(([name, under]) => {
    const at = `${option}.${name}`;
    const found =
      name === '*' ? Object.entries(value) : Object.entries(value).filter(([one]) => one === name);
    return found.flatMap(([step, inner]) => {
      const own = name === '*' ? [] : [{ option: at, steps: [...steps, step] }];
      return [...own, ...placesIn(under, inner, at, [...steps, step])];
    });
  });
}

/** What a part of the schema is made of: options by name, and `*` for what has any name or a number. */
function innerOf(part: object): readonly (readonly [string, object])[] {
  const {
    properties = {},
    additionalProperties,
    items,
  } = part as {
    properties?: Readonly<Record<string, object>>;
    additionalProperties?: unknown;
    items?: object;
  };
  const any = [additionalProperties, items].filter((one) => typeof one === 'object' && one !== null);
  return [...Object.entries(properties), ...any.map((one) => ['*', one] as const)];
}
