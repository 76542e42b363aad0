import assert from 'node:assert/strict';
import { hash } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { test } from 'node:test';
import { parse } from 'yaml';
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
  header: X-Key
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
  - { id: one, plan: full, secret: secret-of-the-first-key, enabled: false, expires: 2099-01-01 }
  - { id: two, plan: full, hash: 'sha256:${'c'.repeat(64)}' }
upstreams:
  old:
    targets: ['http://127.0.0.1:9001', 'https://localhost:9002']
    timeouts: { connect: 1s, response: 20s, idle: 3m }
    connections: 7
    preserveHost: true
    ca: CERTIFICATE
  new: { targets: ['http://127.0.0.1:9003'] }
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
        { maxSize: 1KB, maxDepth: 4, maxValues: 50, suffixed: true, schema: { required: [name] } }
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
        fields: { maxCount: 2, maxSize: 3KB, names: [title], schema: { required: [title] } }
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

test('every option that is written is the one that the gateway runs on', (t) => {
  const { cert } = makeCertificate(t, ['DNS:localhost']);
  const {
    file: _file,
    warnings,
    ...config
  } = loadConfig(writeTemporary(t, textOf(parse(full) as Part, cert)), {});
  assert.deepEqual(warnings, []);
  const v1 = {
    name: 'v1',
    upstream: 'old',
    deprecatedAt: Date.UTC(2026, 0, 1),
    sunsetAt: Date.UTC(2098, 0, 1),
    link: 'https://example.org/v1',
    afterSunset: 'gone',
  };
  const plain = { version: v1, upstream: 'old', cost: 1, costHeader: undefined, upgrade: undefined };
  assert.deepEqual(withoutChecks(config), {
    listen: { host: '127.0.0.1', port: 18_080 },
    admin: {
      listen: { host: '127.0.0.1', port: 19_090 },
      tokens: [
        { name: 'admin', digest: hash('sha256', 'token-of-the-old-way'), role: 'write' },
        { name: 'ada', digest: hash('sha256', 'token-of-ada-lovelace'), role: 'write' },
        { name: 'eve', digest: 'b'.repeat(64), role: 'read' },
      ],
    },
    workers: 3,
    trustProxy: ['10.0.0.0/8'],
    store: {
      kind: 'redis',
      servers: { kind: 'single', address: { host: '127.0.0.1', port: 6380 } },
      username: undefined,
      password: undefined,
      db: 2,
      tls: undefined,
      prefix: 'gatehouse:',
    },
    storeDeadlineMs: 1000,
    auth: {
      header: 'X-Key',
      forwardKey: true,
      cacheForMs: 5000,
      graceOnOutageMs: 3_600_000,
      prefix: 'acme',
      guessing: { failuresMax: 7, perMs: 120_000 },
    },
    plans: new Map([
      [
        'full',
        {
          name: 'full',
          quotas: [
            {
              name: 'monthly',
              limit: 5,
              period: {
                per: 'month',
                timezone: 'Europe/Berlin',
                anchorMonth: 1,
                anchorDay: 31,
                anchorMinute: 390,
              },
              warnAt: 80,
            },
          ],
          rate: { limit: 10, perMs: 3_600_000, burst: 4 },
          concurrency: { limit: 3, shared: true },
          charge: 'success',
          consistency: 'strict',
          onStoreFailure: 'allow',
        },
      ],
    ]),
    keys: [
      {
        id: 'one',
        plan: 'full',
        digest: hash('sha256', 'secret-of-the-first-key'),
        enabled: false,
        expiresAt: Date.UTC(2099, 0, 1),
      },
      { id: 'two', plan: 'full', digest: 'c'.repeat(64), enabled: true, expiresAt: undefined },
    ],
    upstreams: new Map([
      [
        'old',
        {
          name: 'old',
          targets: ['http://127.0.0.1:9001', 'https://localhost:9002'],
          timeouts: { connectMs: 1000, responseMs: 20_000, idleMs: 180_000 },
          connections: 7,
          preserveHost: true,
          ca: cert,
        },
      ],
      [
        'new',
        {
          name: 'new',
          targets: ['http://127.0.0.1:9003'],
          timeouts: { connectMs: 2000, responseMs: 30_000, idleMs: 60_000 },
          connections: 256,
          preserveHost: false,
          ca: undefined,
        },
      ],
    ]),
    versions: new Map([['v1', v1]]),
    routes: [
      {
        ...plain,
        name: 'names',
        path: '/api/v1/names',
        methods: ['POST'],
        upstream: 'new',
        cost: 3,
        costHeader: 'x-cost',
        body: { kind: 'json', sizeMax: 1024, depthMax: 4, valuesMax: 50, suffixed: true, check: 'a check' },
      },
      {
        ...plain,
        name: '/api/v1/form',
        path: '/api/v1/form',
        methods: ['POST'],
        body: {
          kind: 'upload',
          arrival: { timeoutMs: 60_000, bytesPerSecondMin: 2048 },
          upload: {
            kind: 'form',
            sizeMax: 2 * 1024 ** 2,
            files: new Map([
              [
                'voice',
                {
                  required: false,
                  countMax: 2,
                  sizeMax: 1024 ** 2,
                  sizeMin: 2,
                  types: ['audio/*'],
                  extensions: ['wav'],
                  nameLengthMax: 9,
                },
              ],
            ]),
            fields: {
              countMax: 2,
              sizeMax: 3072,
              names: ['title'],
              check: 'a check',
              kinds: new Map(),
            },
            others: 'allow',
            forward: 'stream',
          },
        },
      },
      {
        ...plain,
        name: '/api/v1/file',
        path: '/api/v1/file',
        methods: ['PUT'],
        body: {
          kind: 'upload',
          arrival: { timeoutMs: 120_000, bytesPerSecondMin: 3072 },
          upload: {
            kind: 'file',
            sizeMax: 3 * 1024 ** 2,
            sizeMin: 3,
            types: ['audio/wav'],
            forward: 'stream',
          },
        },
      },
      {
        ...plain,
        name: '/api/v1/any',
        path: '/api/v1/any',
        methods: ['PUT'],
        body: { kind: 'any', sizeMax: 4096, arrival: { timeoutMs: 240_000, bytesPerSecondMin: 4096 } },
      },
      {
        ...plain,
        name: '/api/v1/feed',
        path: '/api/v1/feed',
        methods: ['GET', 'HEAD'],
        body: { kind: 'none' },
        upgrade: { idleMs: 60_000, socketsMax: 5 },
      },
    ],
    usagePath: '/api/v1/usage',
    errors: new Map([['route_unknown', { status: 410, message: 'gone', fields: { see: 'elsewhere' } }]]),
    limits: {
      connections: 11,
      inFlight: 12,
      inFlightPerConnection: 13,
      headerBytes: 14 * 1024,
      headerCount: 15,
      headerTimeoutMs: 16_000,
      requestTimeoutMs: 17_000,
      keepAliveMs: 18_000,
      stalledReaderMs: 19_000,
      bodyMemory: 20 * 1024 ** 2,
    },
    spool: { memoryMax: 21 * 1024 ** 2, diskMax: 22 * 1024 ** 2, directory: '/var/tmp' },
    forwarded: true,
    drain: { delayMs: 23_000, timeoutMs: 24_000 },
    log: { level: 'debug', format: 'json' },
  });
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

function textOf(parts: Part, cert: string): string {
  return JSON.stringify(parts).replace('"CERTIFICATE"', JSON.stringify(cert));
}

function readOrErrors(file: string, parts: Part, cert: string): unknown {
  writeFileSync(file, textOf(parts, cert));
  try {
    const { file: _file, ...config } = loadConfig(file, {});
    return withoutChecks(config);
  } catch (error) {
    if (!(error instanceof ConfigErrors)) throw error;
    return 'errors';
  }
}

/** The same, with a word in place of each check of a body: two that do the same are not equal. */
function withoutChecks(value: unknown): unknown {
  if (typeof value === 'function') return 'a check';
  if (typeof value !== 'object' || value === null) return value;
  if (Array.isArray(value)) return value.map(withoutChecks);
  if (value instanceof Map) return new Map([...value].map(([name, inner]) => [name, withoutChecks(inner)]));
  return Object.fromEntries(Object.entries(value).map(([name, inner]) => [name, withoutChecks(inner)]));
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
