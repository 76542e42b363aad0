import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { Ajv2020 } from 'ajv/dist/2020.js';
import { parse } from 'yaml';
import { formats } from '../../../src/config/formats.ts';
import { schema } from '../../../src/config/schema.ts';
import { publishedAt, publishedSchema } from '../../../src/config/write-schema.ts';

const text = readFileSync(publishedAt, 'utf8');
const fits = new Ajv2020({ strict: true, strictTypes: false, allErrors: true }).compile(JSON.parse(text));
const example = new URL('../../../config/gateway.yaml', import.meta.url);

test('the published schema is current (npm run schema)', () => assert.equal(text, publishedSchema()));

test('the schema of every start has no word that its compiler would ignore', () => {
  const strict = new Ajv2020({ strict: true, allowUnionTypes: true });
  for (const name of Object.keys(formats)) strict.addFormat(name, true);
  assert.doesNotThrow(() => strict.compile(schema));
});

test('the published schema is valid and accepts the example', () => {
  assert.ok(fits(parse(readFileSync(example, 'utf8'))), JSON.stringify(fits.errors, undefined, 2));
});

const route = (part: object) => ({ routes: [{ path: '/x', methods: ['GET'], ...part }] });

const accepted: readonly [string, unknown][] = [
  ['a number from the environment', { limits: { inFlight: '${N}' } }],
  ['a boolean from the environment', { forwarded: '${F:-true}' }],
  ['a word of a set from the environment', { log: { level: '${LEVEL:-info}' } }],
  ['a duration from the environment', { drain: { timeout: '${T}' } }],
  ['workers from the environment', { workers: '${WORKERS:-2}' }],
  ['a concurrency from the environment', { plans: { free: { concurrency: '${C:-8}' } } }],
  ['a concurrency that is shared', { plans: { free: { concurrency: { limit: 8, shared: true } } } }],
  ['an upgrade from the environment', route({ upgrade: '${U:-websocket}' })],
  ['a body from the environment', route({ body: '${B:-none}' })],
  ['an upgrade with its options', route({ upgrade: { websocket: { maxSockets: '${N}' } } })],
  ['a store in capitals', { store: 'SQLITE:./x.db' }],
  ['a bare port', { listen: 8080 }],
  ['as many workers as cores', { workers: 'auto' }],
];
const refused: readonly [string, unknown][] = [
  ['an unknown option', { nope: 1 }],
  ['a misspelt refusal', { errors: { key_mising: {} } }],
  ['a duration without a unit', { drain: { timeout: '30' } }],
  ['half a worker', { workers: 0.5 }],
  ['a negative limit', { limits: { inFlight: -1 } }],
  ['a concurrency in words', { plans: { free: { concurrency: 'few' } } }],
  ['an upgrade that is none', route({ upgrade: 'h2c' })],
  ['a body of two kinds', route({ body: { json: {}, any: {} } })],
  ['a store without a scheme', { store: './x.db' }],
  ['a word outside its set', { log: { level: 'inf' } }],
];
const base = { upstreams: { a: { targets: ['http://h'] } }, routes: [{ path: '/x', methods: ['GET'] }] };
for (const [verdict, cases] of [
  [true, accepted],
  [false, refused],
] as const) {
  for (const [name, part] of cases) {
    test(`editors ${verdict ? 'accept' : 'mark'} ${name}`, () => {
      assert.equal(fits({ ...base, ...(part as object) }), verdict);
    });
  }
}

test('every option says what it is for', () => {
  const silent: string[] = [];
  const visit = (part: unknown, path: string): void => {
    if (typeof part !== 'object' || part === null) return;
    const { description, properties, additionalProperties, items } = part as Record<string, unknown>;
    if (typeof description !== 'string') silent.push(path);
    for (const [name, inner] of Object.entries(properties ?? {})) visit(inner, `${path}.${name}`);
    visit(additionalProperties, `${path}.*`);
    visit(items, `${path}[]`);
  };
  visit(schema, '');
  assert.deepEqual(silent, []);
});
