import assert from 'node:assert/strict';
import { isUtf8 } from 'node:buffer';
import { test } from 'node:test';
import { createTextCheck } from '../../../src/uploads/check-text.ts';

const bytes = (...values: number[]): Buffer => Buffer.from(values);

for (const [name, body] of [
  ['nothing', bytes()],
  ['a text that ends in a letter', Buffer.from('äé€😀\u{10ffff}z')],
  ...['\u0080', 'é', '\u07ff', '\u0800', '€', '\uffff', '😀', '\u{40000}'].map(
    (last) => [`a text that ends in ${JSON.stringify(last)}`, Buffer.from(`z${last}${last}`)] as const,
  ),
  ['two bytes of three', bytes(0x61, 0xe2, 0x82)],
  ['three bytes of four', bytes(0x61, 0xf0, 0x9f, 0x98)],
  ['the first byte of two', bytes(0x61, 0xc3)],
  ['a character that breaks off, and a letter', bytes(0xe2, 0x82, 0x61)],
  ['a byte that begins nothing', bytes(0x61, 0x80, 0x61)],
  ['more bytes than the character has', bytes(0xc3, 0xa9, 0xa9, 0x61, 0x61, 0x61)],
  ['a letter in too many bytes', bytes(0xc1, 0xa1, 0x61, 0x61, 0x61)],
  ['half of a pair', bytes(0xed, 0xa0, 0x80, 0x61, 0x61, 0x61)],
  ['NUL', Buffer.from('a\0bcdefgh')],
] as const) {
  test(`${name} is text, or not, wherever it is cut`, () => {
    for (let size = 1; size <= 8; size += 1) {
      const check = createTextCheck();
      let last = true;
      for (let at = 0; at < body.length; at += size) last = check.write(body.subarray(at, at + size));
      const isText = isUtf8(body) && !body.includes(0);
      assert.equal(check.end(), isText, `in pieces of ${size}`);
      if (isText) assert.ok(last);
    }
  });
}

test('what is no text stays so, whatever follows', () => {
  const check = createTextCheck();
  assert.equal(check.write(bytes(0xff, 0x61)), false);
  assert.equal(check.write(Buffer.from('text')), false);
  assert.equal(check.end(), false);
});
