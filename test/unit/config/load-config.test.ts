import assert from 'node:assert/strict';
import { hash } from 'node:crypto';
import { syncBuiltinESMExports } from 'node:module';
import os, { availableParallelism, tmpdir } from 'node:os';
import { test } from 'node:test';
import { loadConfig } from '../../../src/config/load-config.ts';
import { ConfigUnreadable } from '../../../src/config/problems.ts';
import { complaints } from '../../helpers/complaints.ts';
import { writeTemporary } from '../../helpers/config-file.ts';

/** The least that loads; on line 1 and 2, so that what is added starts on line 3. */
const least = `upstreams: { a: { targets: ["http://127.0.0.1:9000"] } }
routes: [{ path: /x, methods: [GET], upstream: a }]
`;

/** A route list of its own, with one upstream and one version, on lines 3 and following. */
const routed = `upstreams: { a: { targets: ["http://127.0.0.1:9000"] } }
versions: { v1: { upstream: a } }
`;

test('the least file gets every documented default', (t) => {
  const config = loadConfig(writeTemporary(t, least), {});
  const { file: _file, routes, upstreams, ...rest } = config;
  assert.deepEqual(rest, {
    listen: { host: '0.0.0.0', port: 8080 },
    admin: { listen: { host: '127.0.0.1', port: 9090 }, tokens: [] },
    workers: 1,
    trustProxy: [],
    store: { kind: 'sqlite', path: './data/gatehouse.db' },
    storeDeadlineMs: 250,
    auth: {
      header: 'apiKey',
      forwardKey: false,
      cacheForMs: 60_000,
      graceOnOutageMs: 900_000,
      prefix: 'gh',
      guessing: { failuresMax: 1000, perMs: 60_000 },
    },
    plans: new Map(),
    keys: [],
    versions: new Map(),
    usagePath: undefined,
    errors: new Map(),
    limits: {
      connections: 10_000,
      inFlight: 1000,
      inFlightPerConnection: 10,
      headerBytes: 16 * 1024,
      headerCount: 100,
      headerTimeoutMs: 10_000,
      requestTimeoutMs: 30_000,
      keepAliveMs: 5000,
      stalledReaderMs: 60_000,
      bodyMemory: 256 * 1024 * 1024,
    },
    spool: { memoryMax: 16 * 1024 * 1024, diskMax: 1024 ** 3, directory: tmpdir() },
    forwarded: false,
    drain: { delayMs: 0, timeoutMs: 30_000 },
    log: { level: 'info', format: 'auto' },
    warnings: [],
  });
  assert.deepEqual(upstreams.get('a'), {
    name: 'a',
    targets: ['http://127.0.0.1:9000'],
    timeouts: { connectMs: 2000, responseMs: 30_000, idleMs: 60_000 },
    connections: 256,
    preserveHost: false,
    ca: undefined,
  });
  assert.deepEqual(routes, [
    {
      name: '/x',
      path: '/x',
      methods: ['GET', 'HEAD'],
      upstream: 'a',
      version: undefined,
      cost: 1,
      costHeader: undefined,
      body: { kind: 'none' },
      upgrade: undefined,
    },
  ]);
});

test('bodies without options get their defaults', (t) => {
  const text = `${routed}routes:
  - { path: /v1/j, methods: [POST], body: { json: {} } }
  - { path: /v1/a, methods: [POST], body: { any: {} } }
  - { path: /v1/u, methods: [POST], body: { upload: { files: { file: {} } } } }
  - { path: /v1/f, methods: [POST], body: { file: {} } }
  - { path: /v1/w, methods: [GET], upgrade: websocket }
`;
  const { routes } = loadConfig(writeTemporary(t, text), {});
  assert.deepEqual(routes[0]?.body, {
    kind: 'json',
    sizeMax: 64 * 1024,
    depthMax: 32,
    valuesMax: 200_000,
    suffixed: false,
    check: undefined,
  });
  assert.deepEqual(routes[1]?.body, {
    kind: 'any',
    sizeMax: 1024 * 1024,
    arrival: { timeoutMs: 30_000, bytesPerSecondMin: 0 },
  });
  const arrival = { timeoutMs: 600_000, bytesPerSecondMin: 1024 };
  const field = { required: true, countMax: 1, sizeMax: 12 * 1024 ** 2, sizeMin: 1, types: undefined };
  assert.deepEqual(routes[2]?.body, {
    kind: 'upload',
    arrival,
    upload: {
      kind: 'form',
      sizeMax: 12 * 1024 ** 2,
      files: new Map([['file', { ...field, extensions: undefined, nameLengthMax: 255 }]]),
      fields: { countMax: 20, sizeMax: 16 * 1024, names: undefined, check: undefined, kinds: new Map() },
      others: 'refuse',
      forward: 'whole',
    },
  });
  assert.deepEqual(routes[3]?.body, {
    kind: 'upload',
    arrival,
    upload: { kind: 'file', sizeMax: 10 * 1024 ** 2, sizeMin: 1, types: undefined, forward: 'whole' },
  });
  assert.deepEqual(routes[4]?.upgrade, { idleMs: 300_000, socketsMax: 256 });
});

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

const addresses: readonly [string, string, number][] = [
  ['8080', '0.0.0.0', 8080],
  ['":8080"', '0.0.0.0', 8080],
  ['127.0.0.1:1', '127.0.0.1', 1],
  ['"[::1]:8080"', '::1', 8080],
  ['localhost:0', 'localhost', 0],
  ['${PORT}', '0.0.0.0', 4000],
];
for (const [written, host, port] of addresses) {
  test(`listen: ${written} is understood`, (t) => {
    const config = loadConfig(writeTemporary(t, `${least}listen: ${written}\n`), { PORT: '4000' });
    assert.deepEqual(config.listen, { host, port });
  });
}

test('text from the environment becomes a number or a boolean where one is wanted, and only there', (t) => {
  const text = `${least}plans: { free: {} }
keys: [{ id: demo, plan: free, secret: "\${SECRET}" }]
forwarded: \${YES}
limits: { inFlight: "\${N:-7}" }
`;
  const config = loadConfig(writeTemporary(t, text), { SECRET: '1234567890123456', YES: 'true' });
  assert.equal(config.forwarded, true);
  assert.equal(config.limits.inFlight, 7);
  assert.equal(config.keys[0]?.digest, hash('sha256', '1234567890123456'));
});

test('a number from the environment is taken where a word or a mapping would be too', (t) => {
  const text = `${least}workers: \${WORKERS:-2}
plans: { free: { concurrency: "\${C:-8}" } }
`;
  const numbers = (env: NodeJS.ProcessEnv) => {
    const { workers, plans } = loadConfig(writeTemporary(t, text), env);
    return [workers, plans.get('free')?.concurrency?.limit];
  };
  assert.deepEqual(numbers({}), [2, 8]);
  assert.deepEqual(numbers({ WORKERS: 'auto', C: '3' }), [availableParallelism(), 3]);
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

test('a file is read without its last newline, and $${ stands for ${', (t) => {
  const secret = writeTemporary(t, 'from-a-file-on-disk\n', 'secret');
  const text = `${least}plans: { free: {} }
keys: [{ id: demo, plan: free, secret: "\${file:${secret}}" }]
errors: { internal: { message: "a $\${word}" } }
`;
  const config = loadConfig(writeTemporary(t, text), {});
  assert.equal(config.keys[0]?.digest, hash('sha256', 'from-a-file-on-disk'));
  assert.equal(config.errors.get('internal')?.message, 'a ${word}');
});

test('nothing is expanded inside a body schema', (t) => {
  const text = `${routed}routes: [{ path: /v1/x, methods: [POST], body: { json: { schema: { const: "\${NOT_SET}" } } } }]\n`;
  assert.deepEqual(complaints(t, text), []);
});

test('a short secret is a warning', (t) => {
  const text = `${least}plans: { free: {} }\nkeys: [{ id: demo, plan: free, secret: short }]\n`;
  const file = writeTemporary(t, text);
  assert.deepEqual(loadConfig(file, {}).warnings, [
    `${file}:4:32: keys[0].secret: is shorter than 16 characters and can be guessed`,
  ]);
});

test('a secret that stands in an example is a warning, and so is such a token', (t) => {
  const example = 'replace-me-with-32-random-characters';
  const text = `${least}plans: { free: {} }
keys: [{ id: demo, plan: free, secret: demo-key-please-change }]
admin: { token: ${example}, tokens: [{ name: one, token: ${example}-too }] }
`;
  const file = writeTemporary(t, text);
  assert.deepEqual(loadConfig(file, {}).warnings, [
    `${file}:4:32: keys[0].secret: stands in an example that anybody can read`,
    `${file}:5:10: admin.token: stands in an example that anybody can read`,
    `${file}:5:77: admin.tokens[0].token: stands in an example that anybody can read`,
  ]);
});

test('a secret that only has such letters in it is none', (t) => {
  const keys = [
    'replacement-parts-9f8a',
    'price-change-metrics',
    'exchange-messages-77',
    '$ecret-of-16-letters',
    'a<b>c{{d}}e%f%g$HIJK',
  ]
    .map((secret, at) => `{ id: k${at}, plan: free, secret: "${secret}" }`)
    .join(', ');
  const file = writeTemporary(t, `${least}plans: { free: {} }\nkeys: [${keys}]\n`);
  assert.deepEqual(loadConfig(file, {}).warnings, []);
});

test('a key in the file that has expired is a warning', (t) => {
  const [old, later] = ['2020-01-01', '9999-01-01'].map(
    (expires) => `{ id: k${expires}, plan: free, secret: ${expires}-aaaaaaaa, expires: ${expires} }`,
  );
  const file = writeTemporary(t, `${least}plans: { free: {} }\nkeys:\n  - ${old}\n  - ${later}\n`);
  assert.deepEqual(loadConfig(file, {}).warnings, [
    `${file}:5:65: keys[0].expires: has passed, so the key works for nobody`,
  ]);
});

test('a time that is too short for honest clients is a warning', (t) => {
  const warningsOf = (ms: number): readonly string[] => {
    const limits = `{ stalledReader: ${ms}ms, requestTimeout: ${ms}ms, headerTimeout: ${ms}ms }`;
    const file = writeTemporary(t, `${least}limits: ${limits}\n`);
    return loadConfig(file, {}).warnings.map((line) => line.replace(`${file}:`, ''));
  };
  assert.deepEqual(warningsOf(100), []);
  const says = 'is less than 100ms and cuts honest clients on slow networks';
  assert.deepEqual(warningsOf(99), [
    `3:11: limits.stalledReader: ${says}`,
    `3:32: limits.requestTimeout: ${says}`,
    `3:54: limits.headerTimeout: ${says}`,
  ]);
});

test('a keepAlive that clients are told as nothing is a warning', (t) => {
  const warningsOf = (keepAlive: string): readonly string[] =>
    loadConfig(writeTemporary(t, `${least}limits: { keepAlive: ${keepAlive} }\n`), {}).warnings;
  assert.deepEqual(warningsOf('1s'), []);
  const says =
    'is less than 1s, so clients are told Keep-Alive: timeout=0 and connect again for each request';
  assert.match(warningsOf('999ms').join(), new RegExp(`:3:11: limits.keepAlive: ${RegExp.escape(says)}$`));
});

test('a cost that no plan can pay is a warning, for a key may have a quota of its own', (t) => {
  const plans =
    'plans: { p: { quotas: [{ name: q, limit: 3, per: day }] }, r: { quotas: [{ name: q, limit: 9, per: day }, { name: s, limit: 4, per: hour }] } }';
  const text = (cost: number): string =>
    `${least.replace('upstream: a', `upstream: a, cost: ${cost}`)}${plans}\n`;
  const warningsOf = (cost: number): readonly string[] =>
    loadConfig(writeTemporary(t, text(cost)), {}).warnings;
  assert.deepEqual(warningsOf(4), []);
  const wider = text(5).replace('plans: {', 'plans: { a: { quotas: [{ name: q, limit: 5, per: day }] },');
  const endless = text(5).replace('plans: {', 'plans: { a: {},');
  for (const each of [wider, endless]) assert.deepEqual(loadConfig(writeTemporary(t, each), {}).warnings, []);
  const says =
    'routes[0].cost: is more than any plan can pay, the most is the limit of plans.r.quotas[1] (line 3)';
  assert.match(
    warningsOf(5).join(),
    new RegExp(`${RegExp.escape(says)}; keys need a quota of their own for it$`),
  );
});

test('a GET whose body is checked is a warning, as few clients send one', (t) => {
  const warningsOf = (methods: string, body: string): readonly string[] => {
    const text = `${routed}routes: [{ path: /v1/x, methods: [${methods}], body: ${body} }]\n`;
    return loadConfig(writeTemporary(t, text), {}).warnings.map((line) =>
      line.replace(/^.*routes/, 'routes'),
    );
  };
  const says =
    'routes[0].methods: takes GET and HEAD only with a body, which most clients do not send: give them their own route';
  assert.deepEqual(warningsOf('GET, POST', '{ json: {} }'), [says]);
  assert.deepEqual(warningsOf('HEAD', '{ file: {} }'), [says]);
  assert.deepEqual(warningsOf('DELETE', '{ json: {} }'), []);
  assert.deepEqual(warningsOf('GET', '{ any: {} }'), []);
});

test('a time zone that is a winter all year is a warning', (t) => {
  const zones = ['EST', 'mst', 'CET', 'America/New_York', 'UTC'].map(
    (zone, at) => `{ name: q${at}, limit: 1, per: day, timezone: ${zone} }`,
  );
  const file = writeTemporary(t, `${least}plans: { p: { quotas: [${zones.join(', ')}] } }\n`);
  const warnings = loadConfig(file, {}).warnings.map((line) => line.replace(/^.*plans/, 'plans'));
  assert.deepEqual(warnings, [
    'plans.p.quotas[0].timezone: knows no summer time, write America/New_York where there is one',
    'plans.p.quotas[1].timezone: knows no summer time, write America/Denver where there is one',
  ]);
});

test('to believe every proxy is a warning', (t) => {
  const file = writeTemporary(t, `${least}trustProxy: [10.0.0.0/8, 0.0.0.0/0, "::/0", 10.0.0.1]\n`);
  const says = 'believes everybody, so that callers choose their own addresses';
  assert.deepEqual(loadConfig(file, {}).warnings, [
    `${file}:3:26: trustProxy[1]: ${says}`,
    `${file}:3:37: trustProxy[2]: ${says}`,
  ]);
});

test('a grace that ends before what is kept of a key is a warning', (t) => {
  const warningsOf = (auth: string): readonly string[] =>
    loadConfig(writeTemporary(t, `${least}auth: { ${auth} }\n`), {}).warnings;
  assert.deepEqual(warningsOf('graceOnOutage: 0s, cacheFor: 0s'), []);
  const says = 'auth.graceOnOutage: is less than auth.cacheFor, for which keys go on working all the same';
  assert.match(warningsOf('graceOnOutage: 0s').join(), new RegExp(`:3:9: ${RegExp.escape(says)}$`));
});

test('headers that may not be as large or as many as those of honest clients are a warning', (t) => {
  const warningsOf = (limits: string): readonly string[] =>
    loadConfig(writeTemporary(t, `${least}limits: { ${limits} }\n`), {}).warnings;
  assert.deepEqual(warningsOf('headerSize: 1KB, headerCount: 10'), []);
  for (const [limit, says] of [
    ['headerSize: 1023B', 'limits.headerSize: is less than 1 KB and refuses what honest clients send'],
    ['headerCount: 9', 'limits.headerCount: is less than 10 and refuses what honest clients send'],
  ] as const) {
    assert.match(warningsOf(limit).join(), new RegExp(`:3:11: ${RegExp.escape(says)}$`));
  }
});

test('a type that no extension is known for is a warning, unless it is a private one', (t) => {
  const known =
    'audio/X-WAV, "audio/*", "*/*", image/svg+xml, application/x-own, image/vnd.own, audio/prs.own';
  const text = `${routed}routes:
  - path: /v1/a
    methods: [POST]
    body: { upload: { files: { f: { types: [image/pgn, ${known}, "imge/*"] } } } }
  - { path: /v1/b, methods: [POST], body: { file: { maxSize: 1KB, types: ["\${TYPE}"] } } }
`;
  const file = writeTemporary(t, text);
  const says = 'is a type that no extension is known for';
  const warnings = loadConfig(file, { TYPE: 'audio/wavv' }).warnings.map((line) => line.split('routes')[1]);
  assert.deepEqual(warnings, [
    `[0].body.upload.files.f.types[0]: ${says}, did you mean "image/png"?`,
    `[0].body.upload.files.f.types[8]: ${says}`,
    `[1].body.file.types[0]: ${says}`,
  ]);
});

test('a type that says nothing about a file is a warning', (t) => {
  const types = '[application/octet-stream, audio/wav, Binary/Octet-Stream]';
  const route = `{ path: /v1/a, methods: [PUT], body: { file: { maxSize: 1KB, types: ${types} } } }`;
  const file = writeTemporary(t, `${routed}routes: [${route}]\n`);
  const says = 'says nothing about a file, so hardly one passes: to take any, leave out types';
  assert.deepEqual(
    loadConfig(file, {}).warnings.map((line) => line.replace(/^.*?types/, '')),
    [`[0]: ${says}`, `[2]: ${says}`],
  );
});

test('a pattern that a hostile text can slow down is a warning, one of its properties too', (t) => {
  const schema = `
          properties:
            a: { pattern: '^(a+)+$' }
            b: { pattern: '^(a+)+$', maxLength: 16 }
            c: { pattern: '^(a+)+$', maxLength: 17 }
            d: { pattern: '^\\s+|\\s+$' }
            e: { pattern: '^\\d+\\w+!$', maxLength: 1001 }
            f: { pattern: '^\\d+\\w+!$', maxLength: 1000 }
            g: { pattern: '\\w{1,400}@' }
            h: { pattern: '\\w{1,400}!', maxLength: 32768 }
            i: { pattern: '([a-z]{1,20} ?){1,3}!', maxLength: 2048 }
            j: { pattern: '([a-z]{1,20} ?){1,3}!', maxLength: 498 }
            k: { pattern: '^${'(?:a|b|c|d)*e'.repeat(200)}$' }
          patternProperties: { '^(x*y*)*$': {} }
          additionalProperties: { propertyNames: { maxLength: 16 }, patternProperties: { '^(x*y*)*$': {} } }
`;
  const text = `${routed}routes:\n  - path: /v1/x\n    methods: [POST]\n    body:\n      json:\n        schema:${schema}`;
  const file = writeTemporary(t, text);
  const hold = 'and a hostile text can make it hold up every request';
  const doubling = (at: string): string =>
    `can read what its "${at}" repeats in ever more ways, ${hold}: let each character fit in one way`;
  const warnings = loadConfig(file, {}).warnings.map((line) => line.replace(/^.*?schema\./, ''));
  assert.deepEqual(warnings, [
    `properties.a.pattern: "^(a+)+$" ${doubling('a')}, or set maxLength to 16 or less`,
    `properties.c.pattern: "^(a+)+$" ${doubling('a')}, or set maxLength to 16 or less`,
    String.raw`properties.d.pattern: "^\\s+|\\s+$" searches for its "\\s" again from each character, ${hold} for seconds: begin it with "^", or set maxLength to 1000 or less`,
    String.raw`properties.e.pattern: "^\\d+\\w+!$" can divide a text anywhere between its "\\d" and "\\w", ${hold} for seconds: let the two share no character, or set maxLength to 1000 or less`,
    String.raw`properties.g.pattern: "\\w{1,400}@" counts its "\\w" again from each character, ${hold}: begin it with "^" or lower the counts, or set maxLength to 1000 or less`,
    `properties.i.pattern: "([a-z]{1,20} ?){1,3}!" counts its "[a-z]" again from each character, ${hold}: begin it with "^" or lower the counts, or set maxLength to 498 or less`,
    'properties.k.pattern: "^(?:a|b|c|d)*e(?:a|b|c|d)*e(?:a|b|c|d)*e…" is too large to tell whether a hostile text can make it hold up every request: make it smaller, or set maxLength to 16 or less',
    `patternProperties["…"]: "^(x*y*)*$" ${doubling('x')}, or set propertyNames: { maxLength: 16 }`,
  ]);
});

test('a pattern is quick on a text that its body has no room for', (t) => {
  const schema = String.raw`schema: { properties: { a: { pattern: '\w{1,400}!' }, b: { pattern: '\s+$' } } }`;
  const warningsOf = (body: string): number => {
    const text = `${routed}routes: [{ path: /v1/x, methods: [POST], body: ${body} }]\n`;
    return loadConfig(writeTemporary(t, text), {}).warnings.length;
  };
  assert.equal(warningsOf(`{ json: { ${schema} } }`), 2);
  assert.equal(warningsOf(`{ json: { maxSize: 32KB, ${schema} } }`), 1);
  assert.equal(warningsOf(`{ json: { maxSize: 1000B, ${schema} } }`), 0);
  assert.equal(warningsOf(`{ upload: { files: { f: {} }, fields: { ${schema} } } }`), 1);
});

test('a file that is not there is not a file with errors', () => {
  assert.throws(() => loadConfig('/does/not/exist.yaml', {}), {
    name: ConfigUnreadable.name,
    message: '/does/not/exist.yaml cannot be read: there is no such file',
  });
});

test('everything that is wrong is reported at once, in the order of the lines', (t) => {
  const text = `listn: 8080
upstreams: { a: { targets: ["ftp://x"] } }
routes:
  - { path: /v1/x, methods: [get], upstream: b, cost: -1 }
log: { level: inf }
keys: [{ id: demo, plan: fre, secret: "with space" }]
plans: { free: {} }
`;
  assert.deepEqual(complaints(t, text), [
    '1:1: listn: unknown option, did you mean "listen"?',
    '2:29: upstreams.a.targets[0]: "ftp://x" is not an http or https address, write an origin such as http://127.0.0.1:9000',
    '4:30: routes[0].methods[0]: there is no "get", did you mean "GET"?',
    '4:36: routes[0].upstream: there is no upstream "b", choose from a',
    '4:49: routes[0].cost: -1 is too small, the least is 0',
    '5:8: log.level: there is no "inf", did you mean "info"?',
    '6:20: keys[0].plan: there is no plan "fre", did you mean "free"?',
    '6:31: keys[0].secret: the value must be visible ASCII characters without spaces or line breaks',
  ]);
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
  assert.deepEqual(form.body.upload.fields.kinds, kinds);
});
