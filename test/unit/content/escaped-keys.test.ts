import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as fc from 'fast-check';
import { parseEscapedKeys } from '../../../src/content/escaped-keys.ts';

test('what was written is read, whatever its keys are', () => {
  const key = fc.oneof(fc.string(), fc.constantFrom('__proto__', 'constructor', '1', '\\', '"', '\n'));
  const value = fc.oneof(fc.jsonValue({ stringUnit: 'grapheme' }), fc.dictionary(key, fc.constant({})));
  fc.assert(
    fc.property(fc.dictionary(key, value), (written) => {
      const text = JSON.stringify(written);
      assert.equal(JSON.stringify(parseEscapedKeys(text)), text);
    }),
    { numRuns: 300 },
  );
});
