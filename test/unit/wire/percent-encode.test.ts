import assert from 'node:assert/strict';
import { test } from 'node:test';
import { percentEncode } from '../../../src/wire/percent-encode.ts';

test('what a header can hold stays as it is, and the rest is encoded as in a URL', () => {
  for (const [text, encoded] of [
    ['', ''],
    ['acme', 'acme'],
    ['Acme, "Voice & Co." <ada@example.com>', 'Acme, "Voice & Co." <ada@example.com>'],
    ['ada+test@example.com', 'ada%2Btest@example.com'],
    ['100%', '100%25'],
    ['M%C3%BCller', 'M%25C3%25BCller'],
    ['Müller', 'M%C3%BCller'],
    ['名前 😀', '%E5%90%8D%E5%89%8D %F0%9F%98%80'],
    ['  two  ', '%20 two %20'],
    [' ', '%20'],
    ['\u00a0\t\r\n', '%C2%A0%09%0D%0A'],
  ] as const) {
    assert.equal(percentEncode(text), encoded);
  }
});

test('each character is read back by decoders of URLs and of forms, so no two are the same', () => {
  for (let code = 0; code <= 0xffff; code += 1) {
    if (code >= 0xd800 && code <= 0xdfff) continue; // halves of characters, which no key may have
    const text = ` ${String.fromCharCode(code)} x`;
    const encoded = percentEncode(text);
    assert.match(encoded, /^[!-~][ -~]*$/);
    assert.equal(decodeURIComponent(encoded), text);
    assert.equal(new URLSearchParams(`a=${encoded.replaceAll('&', '%26')}`).get('a'), text);
  }
});
