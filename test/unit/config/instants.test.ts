import assert from 'node:assert/strict';
import { test } from 'node:test';
import { lastInstant, parseInstant } from '../../../src/config/instants.ts';

test('a moment has a year of four digits in UTC, whatever its zone', () => {
  assert.equal(parseInstant('9999-12-31T23:59:59.999Z'), lastInstant);
  assert.equal(parseInstant('0000-01-01'), Date.parse('0000-01-01'));
  for (const text of ['9999-12-31T23:59:59-00:01', '0000-01-01T00:00:00+00:01'])
    assert.equal(parseInstant(text), undefined, text);
});
