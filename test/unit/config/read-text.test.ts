import assert from 'node:assert/strict';
import { test } from 'node:test';
import { readText, textBytesMax } from '../../../src/config/read-text.ts';
import { writeTemporary } from '../../helpers/config-file.ts';
import { openFiles } from '../../helpers/open-files.ts';

test('a file of a megabyte is read whole, and one byte more is too much', (t) => {
  assert.equal(readText(writeTemporary(t, 'x'.repeat(textBytesMax))).length, textBytesMax);
  const larger = writeTemporary(t, 'x'.repeat(textBytesMax + 1));
  assert.throws(() => readText(larger), { message: 'is larger than 1MB', opened: true });
});

test('UTF-16 is no text here, with or without a byte order mark', (t) => {
  for (const text of ['log: {}', '\uFEFFlog: {}']) {
    const little = Buffer.from(text, 'utf16le');
    for (const bytes of [little, Buffer.from(little).swap16()])
      assert.throws(() => readText(writeTemporary(t, bytes)), { message: 'is not UTF-8 text', opened: true });
  }
});

test('no file stays open, whether it could be read or not', (t) => {
  const files = [writeTemporary(t, 'x'), writeTemporary(t, Uint8Array.of(0xff)), '/'];
  const before = openFiles().size;
  for (const file of files) {
    try {
      readText(file);
    } catch {}
  }
  assert.equal(openFiles().size, before);
});
