import assert from 'node:assert/strict';
import { test } from 'node:test';
import addFormats from 'ajv-formats';
import { Ajv2020 } from 'ajv/dist/2020.js';
import { createDocument } from '../../../src/admin/document.ts';
import { operations } from '../../../src/admin/operations.ts';
import { problemStatuses } from '../../../src/admin/problem.ts';
import type { OpenApi, Part } from '../../helpers/admin-client.ts';

const document = JSON.parse(JSON.stringify(createDocument())) as OpenApi & Readonly<Record<string, unknown>>;
const methods = ['get', 'put', 'post', 'delete', 'options', 'head', 'patch', 'trace'];
/** The probe is described beside them. */
const { '/readyz': readyz, ...paths } = document.paths;
const told = Object.entries(paths).flatMap(([path, item]) =>
  Object.entries(item).flatMap(([method, operation]) =>
    methods.includes(method) ? [{ path, method, operation }] : [],
  ),
);

test('every operation is in the document, and the document has no other', () => {
  const real = operations.map(({ method, path, id }) => `${method} ${path} ${id}`);
  const names = told.map(
    ({ path, method, operation }) => `${method.toUpperCase()} ${path} ${operation.operationId}`,
  );
  assert.deepEqual(names.toSorted(), real.toSorted());
  assert.equal(new Set(operations.map(({ id }) => id)).size, operations.length);
});

test('no two operations are asked for in the same way', () => {
  const asked = operations.map(({ method, path }) => `${method} ${path.replaceAll(/\{\w+\}/g, '*')}`);
  assert.equal(new Set(asked).size, asked.length);
});

test('every reference leads somewhere', () => {
  const lost: string[] = [];
  walk(document, (part) => {
    const ref = part['$ref'];
    if (typeof ref !== 'string') return;
    const target = ref
      .slice(2)
      .split('/')
      .reduce<unknown>((at, step) => (at as Part | undefined)?.[step], document);
    if (target === undefined) lost.push(ref);
  });
  assert.deepEqual(lost, []);
});

test('every component is used', () => {
  const text = JSON.stringify(document);
  const { schemas = {}, responses = {}, headers = {} } = document.components;
  const unused = Object.entries({ schemas, responses, headers }).flatMap(([kind, parts]) =>
    Object.keys(parts).filter((name) => !text.includes(`"#/components/${kind}/${name}"`)),
  );
  assert.deepEqual(unused, []);
});

test('every schema is one, and its examples fit it', () => {
  const ajv = new Ajv2020({ strict: true, strictTypes: false, allErrors: true });
  addFormats.default(ajv);
  ajv.addVocabulary(Object.keys(document));
  ajv.addSchema(document, 'openapi');
  let examples = 0;
  for (const [name, schema] of Object.entries(document.components['schemas']!)) {
    assert.ok(ajv.validateSchema(schema), name);
    const check = ajv.compile({ $ref: `openapi#/components/schemas/${name}` });
    for (const example of Array.isArray(schema['examples']) ? schema['examples'] : []) {
      examples += 1;
      assert.ok(check(example), `${name}: ${JSON.stringify(check.errors)}`);
    }
  }
  assert.ok(examples >= 8);
});

test('every operation says what it does, who may, and how it refuses', () => {
  for (const { path, method, operation } of told) {
    const name = `${method} ${path}`;
    assert.match(operation.summary, /^[A-Z]/, name);
    assert.match(operation.description, /token/, name);
    const statuses = Object.keys(operation.responses).map(Number);
    for (const status of [400, 401, 403, 421, 429, 500, 503])
      assert.ok(statuses.includes(status), `${name} ${status}`);
    assert.equal(statuses.includes(412), (operation.parameters ?? []).some(isNamed('If-Match')), name);
    assert.equal(statuses.includes(415), operation.requestBody !== undefined, name);
    const declared = [...path.matchAll(/\{(\w+)\}/g)].map(([, parameter]) => parameter);
    const shared = ((document.paths[path] as Part)['parameters'] ?? []) as Part[];
    assert.deepEqual(
      shared.map((parameter) => parameter['name']),
      declared,
      name,
    );
  }
});

test('every status of a problem but that of a wrong method is a response of the document', () => {
  const answered = new Set(told.flatMap(({ operation }) => Object.keys(operation.responses).map(Number)));
  const missing = Object.values(problemStatuses).filter((status) => !answered.has(status));
  assert.deepEqual(missing, [405]);
});

test('the readiness is described with what it can leave out, and takes no token', () => {
  const { security, parameters, responses } = (readyz as Part)['get'] as Part;
  const asked = (parameters as Part[]).map(({ name, schema }) => [name, (schema as Part)['enum']]);
  assert.deepEqual([security, asked], [[], [['exclude', ['store']]]]);
  assert.deepEqual(Object.keys(responses as Part), ['200', '400', '503']);
});

test('it is an OpenAPI 3.1 document with a bearer token', () => {
  assert.equal(document['openapi'], '3.1.0');
  assert.deepEqual(document['security'], [{ token: [] }]);
  const { type, scheme } = document.components['securitySchemes']!['token']!;
  assert.deepEqual([type, scheme], ['http', 'bearer']);
});

function isNamed(name: string): (parameter: { readonly name: string }) => boolean {
  return (parameter) => parameter.name === name;
}

function walk(part: unknown, visit: (part: Part) => void): void {
  if (typeof part !== 'object' || part === null) return;
  visit(part as Part);
  for (const inner of Object.values(part)) walk(inner, visit);
}
