import assert from 'node:assert/strict';
import { test } from 'node:test';
import { compileCheckedBodies } from '../../../../src/config/body-schema/compile-bodies.ts';
import { loadConfig } from '../../../../src/config/load-config.ts';
import type { RawRoute } from '../../../../src/config/schema.ts';
import { writeTemporary } from '../../../helpers/config-file.ts';

test('a form that may hold few values may have many references for each of them', () => {
  const names = ['a', 'b', 'c', 'd', 'e', 'f'];
  const schema = {
    $defs: {
      filled: { minLength: 1 },
      short: { maxLength: 9 },
      text: { allOf: [{ $ref: '#/$defs/filled' }, { $ref: '#/$defs/short' }] },
    },
    type: 'object',
    properties: Object.fromEntries(names.map((name) => [name, { $ref: '#/$defs/text' }])),
  };
  const route = {
    path: '/form',
    body: { json: { maxSize: '1KB', maxDepth: 1, maxValues: names.length + 1, schema } },
  } as unknown as RawRoute;
  const check = compileCheckedBodies([route]).get(route);
  assert.equal(check?.(Object.fromEntries(names.map((name) => [name, 'x']))), undefined);
});

test('a body may be as large and as deep as its route allows', () => {
  const schema = {
    $defs: { text: { type: 'string' } },
    type: 'object',
    properties: { text: { $ref: '#/$defs/text' }, next: { $ref: '#' } },
  };
  const json = { maxSize: '1MB', maxDepth: 900, maxValues: 1800, schema };
  const route = { path: '/list', body: { json } } as unknown as RawRoute;
  const check = compileCheckedBodies([route]).get(route);
  const text = 'x'.repeat(1000);
  const body = Array.from({ length: 899 }).reduce<object>((next) => ({ text, next }), { text });
  assert.equal(check?.(body), undefined);
});

/* The first 256 references weighed nothing, and what a body without any could take was there for the others: 76 KB took 2.4 s. */
test('a large value is looked at no more often than a body of its depth needs', () => {
  const alternatives = ['all', 'any'].map((kind) => ({
    required: ['child'],
    properties: { child: { $ref: '#' }, kind: { const: kind } },
  }));
  let looks = 0;
  const schema = {
    anyOf: [{ type: 'object', minProperties: 1000, additionalProperties: false }, ...alternatives],
  };
  const json = { maxSize: '128KB', maxDepth: 32, maxValues: 200_000, schema };
  const route = { path: '/filter', body: { json } } as unknown as RawRoute;
  const check = compileCheckedBodies([route]).get(route);
  const fields = Array.from({ length: 6000 }, (_, at) => [`field${at}`, at] as const);
  const large = new Proxy(Object.fromEntries(fields), {
    ownKeys: (target) => {
      looks += 1;
      return Reflect.ownKeys(target);
    },
  });
  const body = Array.from({ length: 9 }).reduce<object>((child) => ({ kind: 'none', child }), large);
  assert.equal(check?.(body), 'the body takes too many steps to check');
  assert.ok(looks < 200, `${looks} looks`);
});

test('a form may hold as much as its fields allow', () => {
  const schema = {
    $defs: { text: { type: 'string' }, texts: { allOf: [{ items: { $ref: '#/$defs/text' } }] } },
    type: 'object',
    properties: { texts: { type: 'array', $ref: '#/$defs/texts' } },
  };
  const upload = { maxSize: '300MB', fields: { maxCount: 1000, maxSize: '256KB', schema } };
  const route = { path: '/form', body: { upload } } as unknown as RawRoute;
  const check = compileCheckedBodies([route]).get(route);
  const texts = Array.from({ length: 1000 }, () => 'x'.repeat(256 * 1024));
  assert.equal(check?.({ texts }), undefined);
});

/* A reload with 1,500 schemas served nobody for 3.4 s. */
test('a schema that is written as before is not compiled again', () => {
  const seven = compileOnly(7);
  assert.equal(compileOnly(7), seven);
  const others = [compileOnly(7, 5), compileOnly(null, 5), compileOnly(Infinity, 5)];
  assert.equal(new Set([seven, ...others]).size, 4);
});

function compileOnly(value: unknown, maxDepth = 4) {
  const route = { body: { json: { maxDepth, schema: { enum: [value] } } } } as unknown as RawRoute;
  return compileCheckedBodies([route]).get(route);
}

test('a file that is read again keeps what was compiled of the schemas that stay, and of no others', (t) => {
  const read = (maxima: readonly number[]) => {
    const bodies = maxima.map((maximum) => `body: { json: { schema: { maximum: ${maximum} } } }`);
    const routes = bodies.map((body, at) => `- { path: /v1/${at}, methods: [POST], ${body} }`);
    const head = [
      'plans: { free: {} }',
      "upstreams: { a: { targets: ['http://127.0.0.1:9000'] } }",
      'versions: { v1: { upstream: a } }',
      'routes:',
    ];
    const file = writeTemporary(t, [...head, ...routes].join('\n'));
    return loadConfig(file, {}).routes.map(({ body }) =>
      body.kind === 'json' ? body.schema?.check : undefined,
    );
  };
  const [six, seven] = read([6, 7]);
  const [stays, changed] = read([7, 8]);
  assert.equal(stays, seven);
  assert.match(changed?.(9) ?? '', /8/);
  assert.notEqual(read([6])[0], six);
});
