import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';
import { test } from 'node:test';
import { loadConfig } from '../../../src/config/load-config.ts';
import { ConfigErrors } from '../../../src/config/problems.ts';
import { complaints } from '../../helpers/complaints.ts';
import { writeTemporary } from '../../helpers/config-file.ts';
import { doesNotHang } from '../../helpers/no-hang.ts';
import { createRandom, type Random } from '../../helpers/random.ts';

const example = readFileSync(new URL('../../../config/gateway.yaml', import.meta.url), 'utf8');

const laughs = Array.from({ length: 12 }, (_, at) => {
  const inner = at === 0 ? '"lol"' : `*l${at - 1}, `.repeat(10);
  return `l${at}: &l${at} [${inner}]`;
}).join('\n');

const hostile: readonly { name: string; content: string | Uint8Array; says: RegExp }[] = [
  { name: 'a billion laughs', content: laughs, says: /aliases \(\*name\) repeat too much of the file/ },
  {
    name: 'an alias to itself',
    content: 'log: &a [*a, *a]',
    says: /^1:\d+: log\[0\]: this alias \(\*name\) stands inside what it repeats$/,
  },
  {
    name: 'endless brackets',
    content: '['.repeat(10_000),
    says: /^1:\d+: the file is nested too deeply, or very many commas are missing$/,
  },
  {
    name: 'thousands of keys',
    content: Array.from({ length: 3000 }, (_, n) => `k${n}: 1`).join('\n'),
    says: /k0: unknown option/,
  },
  {
    name: 'bytes that are no UTF-8',
    content: Uint8Array.of(0x61, 0xff),
    says: /^1:1: the file is not UTF-8 text$/,
  },
  {
    name: 'a wall of slashes',
    content: `store: "${'/'.repeat(900_000)}"`,
    says: /store: the value is not a store address/,
  },
];
for (const { name, content, says } of hostile) {
  test(`${name} is refused with a sentence`, (t) => {
    doesNotHang(() => assert.match(complaints(t, content).join('\n'), new RegExp(says.source, 'm')));
  });
}

test('aliases that repeat too much are told of once, and without any alias a file may have as many values', (t) => {
  const told = complaints(t, laughs).filter((line) => line.includes('aliases'));
  assert.equal(told.length, 1);
  const networks = Array.from({ length: 10_001 }, (_, at) => `10.0.${at >> 8}.${at & 255}`);
  const text = example.replace(/^trustProxy: .*/m, `trustProxy: [${networks.join(', ')}]`);
  const file = writeTemporary(t, text);
  assert.equal(loadConfig(file, { DEMO_KEY: 'a-demo-key-of-this-test' }).trustProxy.length, networks.length);
});

test('no secret is in any sentence, however the file is broken around it', (t) => {
  const secret = 'hunter2hunter2hunter2';
  const places = [
    `keys: [{ id: a, plan: none, secret: "${secret} x" }]`,
    `keys: [{ id: a, plan: none, secret: [${secret}] }]`,
    `keys: [{ id: a, plan: none, hash: ${secret} }]`,
    `keys: [${secret}]`,
    `keys: ${secret}`,
    `keys: [{ id: a, plan: none, secret: "${secret} }]`,
    `keys: [{ id: a, plan: none, secret: "\\q${secret}" }]`,
    `keys: [{ id: a, plan: none, secret: @${secret} }]`,
    `keys: [{ id: a, plan: none, secret: ok "${secret}" }]`,
    `keys: [{ id: a, plan: none, secret: *${secret} }]`,
    `keys: [{ id: a, plan: none, secret: !${secret} x }]`,
    `keys: [{ id: a, plan: none, secret:${secret} }]`,
    `keys: [{ id: a, plan: none, ${secret} }]`,
    `keys: [{ id: a, plan: none, "${secret} x": y }]`,
    `keys: [{ id: a, plan: none secret:${secret} }]`,
    `keys:\n  - id: a\n    plan: none\n      secret:${secret}`,
    `keys: { secret:${secret} }`,
    `keys: [{ <<: { secret:${secret} } }]`,
    `keys: [{ secret:${secret}, secret:${secret} }]`,
    `plans: { secret:${secret} }`,
    `plans: { none: { secret:${secret} } }`,
    `errors: { secret:${secret} }`,
    `secret:${secret}: x`,
    `admin: { token:${secret} }`,
    `admin: { token: "${secret} x" }`,
    `admin: ${secret}`,
    `store: redis://user:${secret}@host`,
    `upstreams: { a: { targets: ["http://user:${secret}@host"] } }`,
    ...['listen', 'basePath', 'forwarded', 'store', 'log', 'routes', 'trustProxy'].map(
      (option) => `${option}: "\${S}"`,
    ),
    'log: { level: "${S}" }',
    'limits: { inFlight: "${S}", bodyMemory: "${S}", keepAlive: "${S}" }',
    'auth: { header: "${S} x" }',
    'keys: [{ id: "${S} x", plan: "${S}", expires: "${S}" }]',
    'versions: { v1: { upstream: "${S}", sunset: "${S}", link: "${S}" } }',
    'routes: [{ path: "/${S}/x", methods: ["${S}"], upstream: "${S}", body: "${S}" }]',
    'routes: [{ path: "/${S}/x", methods: [GET] }]',
  ];
  for (const place of places) {
    const said = complaints(t, `${place}\n`, { S: secret }).join('\n');
    assert.ok(said.length > 0, place);
    assert.ok(!said.includes(secret.slice(0, 8)), `${place}\n${said}`);
  }
});

test('random mutations of the example load or give errors with lines', (t) => {
  const random = createRandom(20_261_031);
  const rounds = 60;
  const file = writeTemporary(t, '');
  let loaded = 0;
  for (let round = 0; round < rounds; round += 1) {
    const text = mutate(example, random);
    try {
      writeFileSync(file, text);
      loadConfig(file, { DEMO_KEY: 'a-demo-key-for-the-fuzz' });
      loaded += 1;
    } catch (error) {
      assert.ok(error instanceof ConfigErrors, `${String(error)}\n${text}`);
      for (const line of error.lines) assert.match(line, /^[^:]+:[1-9]\d*:[1-9]\d*: ./, text);
    }
  }
  assert.ok(loaded > 0 && loaded < rounds, `${loaded} of ${rounds} loaded`);
});

const pieces = ' \n\t:-"\'{}[]#0~|>%\u0000\uD800'
  .split('')
  .concat('', '${', '&a ', '*a', '!t ', '-1', 'null', '.nan', '__proto__: 1\n', 'routes:', '? ', '<<: ');

function mutate(text: string, random: Random): string {
  const below = (limit: number): number => Math.floor(random() * limit);
  let mutated = text;
  for (let times = 1 + below(4); times > 0; times -= 1) {
    const from = below(mutated.length);
    const removed = below(3) === 0 ? below(40) : below(3);
    const lines = mutated.split('\n');
    const inserted =
      below(4) === 0 ? `\n${lines[below(lines.length)]}\n` : (pieces[below(pieces.length)] ?? '');
    mutated = mutated.slice(0, from) + inserted + mutated.slice(from + removed);
  }
  return mutated;
}
