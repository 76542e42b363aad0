import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import * as fc from 'fast-check';
import { hasEscapedKey } from '../../../src/content/escaped-keys.ts';
import { type JsonBounds, JsonProblem, parseStrictJson } from '../../../src/content/strict-json.ts';
import { doesNotHang } from '../../helpers/no-hang.ts';

const depthMax = 32;
const valuesMax = 200_000;

function read(text: string | Uint8Array, bounds: Partial<JsonBounds> = {}): unknown {
  return parseStrictJson(Buffer.from(text as string), { depthMax, valuesMax, ...bounds });
}

/** The sentence of the refusal, or undefined when the body was taken. */
function problemOf(body: string | Uint8Array, bounds: Partial<JsonBounds> = {}): string | undefined {
  try {
    read(body, bounds);
    return undefined;
  } catch (error) {
    assert.ok(error instanceof JsonProblem, `threw ${String(error)}`);
    assert.equal(error.cause, undefined);
    return error.message;
  }
}

const accepted = [
  '{"firstName":"Ada","lastName":"Lovelace"}',
  '[]',
  '\t\r\n {"a" : [ 1 , 2 ] } \n',
  'null',
  '-0',
  '""',
  '[1e308]',
  '[1e-400]',
  '[{"a":1},{"a":2}]',
  '{"a":{"b":1},"b":{"a":1}}',
  '{"a":"a","b":"a"}',
  '{"a":"b","b":"a"}',
  '{"a":1,"A":2}',
  '{"a":"\\"a\\":","b":"{\\"b\\":1}"}',
  '{"a\\"":1,"a":2}',
  '{"a\\\\":1,"a":"\\\\"}',
  '{"1":1,"01":2,"10":3}',
  '{"constructor":1,"toString":2,"prototype":3,"hasOwnProperty":4}',
  '["__proto__"]',
  '["\\u0000"]',
  '["\\u0061\\u30af\\u30EA\\u30b9"]',
  '["\\uD801\\udc37"]',
  '["\\ud83d\\ude39\\ud83d\\udc8d"]',
  '["\\"\\\\\\/\\b\\f\\n\\r\\t"]',
  '["\\\\u0000"]',
  '["\\uFFFD"]',
  '["\uFFFD"]',
  '["\u20AC\u{1D11E}\u2028\u2029\u007F"]',
  '["\uFEFF"]',
];

/** The grammar is that of JSON.parse: what could mislead the count of strings and values, and some of the rest. */
const malformed = [
  '[1 true]',
  '["x"',
  '["x"]]',
  '[,1]',
  '[1,,2]',
  '[1,]',
  '[-]',
  '[',
  ']',
  '[}',
  '{]',
  '{',
  '}',
  '[] []',
  '1 2',
  '[012]',
  '[Infinity]',
  'undefined',
  '{"a" b}',
  '{:1}',
  '{a:1}',
  "['a']",
  '{"a":1,}',
  '{"a"}',
  '{"a":',
  '{"a":1}//',
  '["\\',
  '["\\"]',
  '["\\a"]',
  '["\n"]',
  '["\u0000"]',
  '"',
  '"a',
  '\u00A0',
  '[\f]',
  '[1]\u0000',
  '['.repeat(100_000),
  '{"a":'.repeat(100_000),
  '[{"":'.repeat(50_000),
];

const sentences: [name: string, body: string | Uint8Array, sentence: string][] = [
  ['nothing', '', 'The body is empty'],
  ['white space', ' \r\n\t ', 'The body is empty'],
  ['a byte order mark', '\uFEFF{}', 'The body starts with a byte order mark'],
  ['a byte order mark alone', '\uFEFF', 'The body starts with a byte order mark'],
  ['UTF-16', Buffer.from('\uFEFF{"a":1}', 'utf16le'), 'The body is not valid UTF-8'],
  ['latin1', Buffer.from('["\u00e9"]', 'latin1'), 'The body is not valid UTF-8'],
  ['a lone byte', Uint8Array.of(0xff), 'The body is not valid UTF-8'],
  ['a lone byte in a key', Buffer.from('{"\u00ff":1}', 'latin1'), 'The body is not valid UTF-8'],
  ['an overlong slash', quoted(0xc0, 0xaf), 'The body is not valid UTF-8'],
  ['an overlong quote', quoted(0xc0, 0xa2), 'The body is not valid UTF-8'],
  ['a surrogate as UTF-8', quoted(0xed, 0xa0, 0x80), 'The body is not valid UTF-8'],
  ['a code point past the last', quoted(0xf4, 0x90, 0x80, 0x80), 'The body is not valid UTF-8'],
  ['a cut sequence', quoted(0xe2, 0x82), 'The body is not valid UTF-8'],
  ['a cut sequence beside U+FFFD', quoted(0xef, 0xbf, 0xbd, 0xe2), 'The body is not valid UTF-8'],
  ['a duplicate key', '{"a":1,"a":1}', 'The body has a duplicate key'],
  ['a duplicate empty key', '{"":1,"":2}', 'The body has a duplicate key'],
  ['an escaped duplicate', '{"a":1,"\\u0061":2}', 'The body has a duplicate key'],
  ['a duplicate by another escape', '{"/":1,"\\/":2}', 'The body has a duplicate key'],
  ['a duplicate beyond ASCII', '{"\u00e9":1,"\\u00E9":2}', 'The body has a duplicate key'],
  ['a duplicate index', '{"1":"a","2":"b","1":"c"}', 'The body has a duplicate key'],
  ['a duplicate in an array', '[0,[{"a":"a","b":{},"a":"a"}]]', 'The body has a duplicate key'],
  ['a duplicate below a duplicate', '{"a":{"b":1,"b":2},"a":0}', 'The body has a duplicate key'],
  ['a duplicate that hides strings', '{"a":["x","y"],"a":"z"}', 'The body has a duplicate key'],
  ['a duplicate constructor', '{"constructor":1,"constructor":2}', 'The body has a duplicate key'],
  ['a duplicate after a quote', '{"a":"\\\\","a":"\\""}', 'The body has a duplicate key'],
  ['__proto__', '{"__proto__":{}}', 'The body has a key that is not allowed'],
  ['an escaped __proto__', '[{"\\u005f_proto__":1}]', 'The body has a key that is not allowed'],
  ['NUL in a key', '{"a\\u0000":1}', 'The body has a key that is not allowed'],
  ['a high surrogate alone', '["\\uD800"]', 'The body has text that is not valid Unicode'],
  ['a low surrogate alone', '"\\uDFAA"', 'The body has text that is not valid Unicode'],
  ['surrogates swapped', '["\\uDd1e\\uD834"]', 'The body has text that is not valid Unicode'],
  ['a surrogate and a letter', '{"a":"\\uD800a"}', 'The body has text that is not valid Unicode'],
  ['a surrogate in a key', '{"\\uDFAA":0}', 'The body has text that is not valid Unicode'],
  ['1e400', '[1e400]', 'The body has a number that is too large'],
  ['-1e400', '{"a":-1e400}', 'The body has a number that is too large'],
  ['a number of 400 digits', '9'.repeat(400), 'The body has a number that is too large'],
];

describe('parseStrictJson', () => {
  for (const text of accepted) {
    it(`takes ${text}`, () => assert.deepEqual(read(text), JSON.parse(text)));
  }

  for (const text of malformed) {
    it(`refuses ${JSON.stringify(text.slice(0, 40))}`, () => {
      assert.match(problemOf(text) ?? 'taken', /^The body is (not valid JSON|empty)$/);
    });
  }

  for (const [name, body, sentence] of sentences) {
    it(`refuses ${name}`, () => assert.equal(problemOf(body), sentence));
  }

  it('takes nesting up to the limit and refuses one level more', () => {
    for (const [open, close] of [
      ['[', ']'],
      ['{"a":', '}'],
    ] as const) {
      const nested = (depth: number) => `${open.repeat(depth)}1${close.repeat(depth)}`;
      assert.equal(problemOf(nested(depthMax)), undefined);
      assert.equal(problemOf(nested(depthMax + 1)), 'The body is nested too deeply');
      assert.equal(problemOf(nested(100_000)), 'The body is nested too deeply');
    }
  });

  it('takes as many values as are allowed, however they are written, and refuses one more', () => {
    forAnyJson((text, value) => {
      const values = countValues(value);
      assert.equal(problemOf(text, { valuesMax: values }), undefined);
      const sentence = `The body must have at most ${values - 1} values`;
      assert.equal(problemOf(text, { valuesMax: values - 1 }), sentence);
    });
  });

  it('takes a blank in a list or an object for no value', () => {
    assert.equal(problemOf('[ [ ] ,\t{\n} ]', { valuesMax: 3 }), undefined);
  });

  it('makes none of the values of a body that has too many', () => {
    for (const one of ['[]', '{}', '[ ]', '0', '""', '{"a":{}}', '[[[]]]', '"[,]"']) {
      const body = Buffer.from(`[${`${one},`.repeat(500_000)}0]`);
      const before = process.memoryUsage().heapUsed;
      doesNotHang(() => assert.equal(problemOf(body), 'The body must have at most 200000 values'));
      const grown = process.memoryUsage().heapUsed - before;
      assert.ok(grown < 2 * body.length, `${grown} bytes for ${body.length} of ${one}`);
    }
  });

  it('reads escaped keys rightly whatever keys came before (nodejs/node#63785)', () => {
    for (const hint of ['\\', '\\u00', '\\u006', '\\n', '\\"']) {
      read(JSON.stringify({ a: 1, [hint]: 2 }));
      read(JSON.stringify([{ a: 1, [hint]: 2 }, { [hint]: 3 }]));
      assert.deepEqual(read('{"a":1,"\\u0072ole":"admin"}'), { a: 1, role: 'admin' });
      assert.deepEqual(read('{"a":1,"\\u0072ole" :\n"admin"}'), { a: 1, role: 'admin' });
      assert.deepEqual(read('{"a":1,"\\u0072":[{}]}'), { a: 1, r: [{}] });
      assert.deepEqual(read(' [ { "\\n" : "\\n" , "" : true } , 1e2 ] '), [{ '\n': '\n', '': true }, 100]);
      assert.equal(problemOf('{"a":1,"\\u0061":2}'), 'The body has a duplicate key');
      assert.equal(problemOf('{"a":1,"\\n":2,"\\u000a":3}'), 'The body has a duplicate key');
      assert.equal(problemOf('{"a":1,"\\u005f_proto__":2}'), 'The body has a key that is not allowed');
    }
  });

  it('takes any value that was written as JSON', () => {
    forAnyJson((text, _value, indent) => assert.equal(JSON.stringify(read(text), undefined, indent), text));
  });

  it('refuses an object exactly when a key repeats', () => {
    const key = fc.constantFrom(
      '"a"',
      '"\\u0061"',
      '"b"',
      '"\\""',
      '"\\u0022"',
      '"\\\\"',
      '"1"',
      '"\\u0031"',
    );
    const { object } = fc.letrec((tie) => ({
      value: fc.oneof({ maxDepth: 4 }, key, fc.constantFrom('1', '[]', '["a","a"]'), tie('object')),
      object: fc.array(fc.tuple(key, tie('value')), { maxLength: 4 }).map((members) => {
        const inner = members.map(([, value]) => value as Written);
        const names = members.map(([name]) => JSON.parse(name) as string);
        const text = members.map(([name], at) => `${name}:${textOf(inner[at])}`).join();
        const repeats =
          new Set(names).size < names.length || inner.some((one) => typeof one !== 'string' && one.repeats);
        return { text: `{${text}}`, repeats };
      }),
    }));
    fc.assert(
      fc.property(object, (written) => {
        const { text, repeats } = written as Exclude<Written, string>;
        assert.equal(problemOf(text), repeats ? 'The body has a duplicate key' : undefined, text);
      }),
      { numRuns: 1200 },
    );
  });

  it('takes nothing that JSON.parse reads otherwise, however the bytes were mutated', () => {
    const start = '{"firstName":"Ad\\u0061","n":[1,-2.5e3,{"a":null}],"\u00e9":"\\ud83d\\ude39"}';
    const mutation = fc.tuple(fc.nat(start.length), fc.nat(3), fc.uint8Array({ maxLength: 3 }));
    fc.assert(
      fc.property(fc.array(mutation, { maxLength: 4 }), (mutations) => {
        let body = Buffer.from(start);
        for (const [at, cut, put] of mutations) {
          body = Buffer.concat([body.subarray(0, at), put, body.subarray(at + cut)]);
        }
        if (problemOf(body) === undefined) {
          const text = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(body);
          // JSON.parse is no judge of escaped keys.
          if (!hasEscapedKey(text)) assert.deepEqual(read(body), JSON.parse(text));
        }
      }),
      { numRuns: 3000 },
    );
  });

  it('stays fast on a megabyte made to be slow', () => {
    const hostile = [
      '['.repeat(1_000_000),
      '[],'.repeat(300_000),
      `"${'\\\\'.repeat(500_000)}"`,
      `"${'\\u0061'.repeat(160_000)}"`,
      `{${many((at) => `"k${at}":1`)}}`,
      `{${many((at) => `"${at * 32_768}":1`)}}`,
      `{${many((at) => `"${at * 4_294_967}":"${at}"`)}}`,
      `[${many((at) => `{"k${at}":1}`)}]`,
      `{${many((at) => `"\\u006b${at}":1`)}}`,
      `[${many(() => `"\\n"   `)},{"\\n":1}]`,
      '{"\\n":'.repeat(100_000) + '1' + '}'.repeat(100_000),
      '9'.repeat(1_000_000),
    ];
    for (const text of hostile) doesNotHang(() => problemOf(text));
  });
});

/** Any value, written with and without blanks. */
function forAnyJson(check: (text: string, value: unknown, indent: number) => void): void {
  const value = fc.jsonValue({ maxDepth: 8, stringUnit: 'grapheme' });
  fc.assert(
    fc.property(value, fc.nat(2), (any, indent) => {
      const text = JSON.stringify(any, undefined, indent);
      fc.pre(!text.includes('__proto__'));
      check(text, any, indent);
    }),
  );
}

function many(write: (at: number) => string): string {
  return Array.from({ length: 60_000 }, (_, at) => write(at)).join();
}

type Written = string | { readonly text: string; readonly repeats: boolean };

function textOf(written: Written | undefined): string {
  return typeof written === 'object' ? written.text : String(written);
}

function quoted(...bytes: number[]): Uint8Array {
  return Uint8Array.of(0x22, ...bytes, 0x22);
}

function countValues(value: unknown): number {
  if (typeof value !== 'object' || value === null) return 1;
  return Object.values(value).reduce((sum: number, one) => sum + countValues(one), 1);
}
