import assert from 'node:assert/strict';
import { test } from 'node:test';
import { fullFormats } from 'ajv-formats/dist/formats.js';
import * as fc from 'fast-check';
import { compileBodySchema } from '../../../helpers/compile-body-schema.ts';
import { doesNotHang } from '../../../helpers/no-hang.ts';

const check = compileBodySchema({ format: 'url' });

test('a text is a url where ajv-formats says so', () => {
  const piece = fc.constantFrom(...Array.from('a1é-.:@/?#% '), 'ftp://', 'a.bc', '8.8.8.8', '10.', ':80');
  const text = fc.array(piece, { maxLength: 12 }).map((pieces) => pieces.join(''));
  const format = fullFormats.url as RegExp;
  fc.assert(
    fc.property(fc.constantFrom('', 'http://', 'http://a.bc'), text, (start, rest) => {
      assert.equal(check(start + rest) === undefined, format.test(start + rest));
    }),
    { numRuns: 1200 },
  );
});

test('urls are told in time with their length', () => {
  const all = compileBodySchema({ items: { format: 'url' } });
  for (const [part, end, count] of [
    [':@', '', 10_000],
    ['@a.bc/', '\n', 60_000],
  ] as const) {
    const text = 'http://example.com/'.padEnd(2040, part) + end;
    doesNotHang(() => all(Array.from({ length: count }, () => text)));
  }
});
