import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { JsonBodyRule } from '../../../src/config/config.ts';
import { Refusal, type RefusalCode } from '../../../src/refusals.ts';
import { readJson, requireJsonContentType } from '../../../src/stages/read-json.ts';
import { compileBodySchema } from '../../helpers/compile-body-schema.ts';
import { doesNotHang } from '../../helpers/no-hang.ts';
import { refusalOf } from '../../helpers/refusal-of.ts';

const check = compileBodySchema({
  type: 'object',
  required: ['firstName'],
  properties: { firstName: { type: 'string' } },
});

const rule: JsonBodyRule = {
  kind: 'json',
  sizeMax: 16_384,
  depthMax: 3,
  valuesMax: 200_000,
  suffixed: false,
  schema: { check, onMismatch: 'refuse' },
};

const lenient: JsonBodyRule = { ...rule, schema: { check, onMismatch: 'report' } };

const bodies: [name: string, body: string, code: RefusalCode, sentence: string][] = [
  ['no body', '', 'body_malformed', 'The body is empty'],
  ['broken JSON', '{"firstName":"sec', 'body_malformed', 'The body is not valid JSON'],
  ['a duplicate key', '{"firstName":"a","firstName":"b"}', 'body_malformed', 'The body has a duplicate key'],
  ['deep nesting', '[[[[]]]]', 'body_malformed', 'The body is nested too deeply'],
  ['a missing field', '{}', 'body_invalid', 'firstName is required'],
  ['a wrong type', '{"firstName":7}', 'body_invalid', 'firstName must be a string'],
  ['another kind of body', '"sec"', 'body_invalid', 'the body must be an object'],
];

const declared: { name: string; value: string | undefined; suffixed?: boolean; taken: boolean }[] = [
  { name: 'the plain type', value: 'application/json', taken: true },
  { name: 'with charset', value: 'application/json; charset=utf-8', taken: true },
  { name: 'without a space', value: 'application/json;charset=utf-8', taken: true },
  { name: 'with spaces', value: 'application/json  ;  charset=utf-8', taken: true },
  { name: 'in capitals', value: 'APPLICATION/JSON; CHARSET=UTF-8', taken: true },
  { name: 'quoted', value: 'application/json; charset="UTF-8"', taken: true },
  { name: 'a suffixed type where it may be', value: 'application/problem+json', suffixed: true, taken: true },
  {
    name: 'a vendor type',
    value: 'Application/vnd.a-b.v1+x+JSON;charset=utf-8',
    suffixed: true,
    taken: true,
  },
  {
    name: 'the plain type where suffixes may be',
    value: 'application/json;charset="utf-8"',
    suffixed: true,
    taken: true,
  },
  {
    name: 'every character that a name may have',
    value: 'application/1a!#$&^_.+-z+json',
    suffixed: true,
    taken: true,
  },
  { name: 'a suffixed type elsewhere', value: 'application/problem+json', taken: false },
  { name: 'nothing', value: undefined, taken: false },
  { name: 'text', value: 'text/plain', taken: false },
  { name: 'a longer name', value: 'application/jsonp', taken: false },
  { name: 'an empty name before the suffix', value: 'application/+json', suffixed: true, taken: false },
  { name: 'a suffix of another tree', value: 'image/svg+json', suffixed: true, taken: false },
  { name: 'a suffixed type with a version', value: 'application/a+json; v=1', suffixed: true, taken: false },
  { name: 'a slash in the name', value: 'application/a/b+json', suffixed: true, taken: false },
  { name: 'garbage before', value: 'text/plain, application/json', taken: false },
  { name: 'garbage before a suffix', value: 'text/plain, application/a+json', suffixed: true, taken: false },
  { name: 'garbage behind', value: 'application/json garbage', taken: false },
  { name: 'a list', value: 'application/json, text/plain', taken: false },
  { name: 'a list behind a parameter', value: 'application/json; charset=utf-8, text/plain', taken: false },
  { name: 'utf8', value: 'application/json; charset=utf8', taken: false },
  { name: 'utf-16', value: 'application/json; charset=utf-16', taken: false },
  { name: 'half a quote', value: 'application/json; charset="utf-8', taken: false },
  { name: 'an escape in quotes', value: 'application/json; charset="utf\\-8"', taken: false },
  { name: 'spaces around =', value: 'application/json; charset = utf-8', taken: false },
  { name: 'an empty charset', value: 'application/json; charset=', taken: false },
  { name: 'another parameter', value: 'application/json; version=1', taken: false },
  { name: 'another parameter behind', value: 'application/json; charset=utf-8; a=b', taken: false },
  { name: 'an empty parameter', value: 'application/json;', taken: false },
  { name: 'a tab inside', value: 'application/json;\tcharset=utf-8', taken: false },
  { name: 'a line feed', value: 'application/json\n', taken: false },
  { name: 'a NUL', value: 'application/json\0', taken: false },
  { name: 'a Kelvin sign for k', value: 'application/\u212A+json', suffixed: true, taken: false },
  { name: 'a long s', value: 'application/j\u017Fon', taken: false },
];

describe('readJson', () => {
  it('takes a body that fits, and has nothing to report', () => {
    const body = Buffer.from('{"firstName":"Ada","more":[1]}');
    assert.deepEqual([readJson(body, rule), readJson(body, lenient)], [undefined, undefined]);
  });

  it('takes any JSON where the route has no schema', () => {
    readJson(Buffer.from('null'), { ...rule, schema: undefined });
  });

  it('refuses what is no JSON even where the route has no schema', () => {
    assert.throws(() => readJson(Buffer.from('{'), { ...rule, schema: undefined }), Refusal);
  });

  for (const [name, body, code, sentence] of bodies) {
    it(`refuses ${name} as ${code} and repeats no value`, () => {
      const refusal = refusalOf(() => readJson(Buffer.from(body), rule));
      assert.equal(refusal?.code, code);
      assert.equal(refusal?.publicMessage, sentence);
      assert.equal(refusal?.cause, undefined);
    });

    it(`${code === 'body_invalid' ? 'only reports' : 'refuses'} ${name} where the schema refuses nobody`, () => {
      let reported: string | undefined;
      const refusal = refusalOf(() => (reported = readJson(Buffer.from(body), lenient)));
      const isReported = code === 'body_invalid';
      assert.deepEqual([refusal?.code, reported], isReported ? [undefined, sentence] : [code, undefined]);
    });
  }
});

describe('requireJsonContentType', () => {
  for (const { name, value, suffixed = false, taken } of declared) {
    it(`${taken ? 'takes' : 'refuses'} ${name}`, () => {
      const refusal = refusalOf(() => requireJsonContentType(value, suffixed));
      assert.equal(refusal?.code, taken ? undefined : 'content_type_unsupported');
      if (taken) return;
      const types = suffixed ? 'application/json or application/*+json' : 'application/json';
      const isNearly = value?.startsWith('application/json;') || value?.startsWith('application/a+json;');
      const more = isNearly ? ' with charset=utf-8 or no parameter' : '';
      assert.equal(refusal?.publicMessage, `Content-Type must be ${types}${more}`);
    });
  }

  it('takes time with the length of the value only', () => {
    doesNotHang(() => {
      requireJsonContentType(`application/${'a+'.repeat(100_000)}json`, true);
      refusalOf(() => requireJsonContentType(`application/${'a+'.repeat(100_000)}`, true));
      refusalOf(() => requireJsonContentType(`application/json${' '.repeat(100_000)}`, true));
    });
  });
});
