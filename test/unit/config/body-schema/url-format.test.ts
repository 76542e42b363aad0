import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { fullFormats } from 'ajv-formats/dist/formats.js';
import * as fc from 'fast-check';
import { isUrl } from '../../../../src/config/body-schema/url-format.ts';
import { doesNotHang } from '../../../helpers/no-hang.ts';

const urls = [
  'http://example.com',
  'HTTPS://example.com/',
  'ftp://example.com:2121/pub/a%20b?c=d#e',
  'http://user@example.com',
  'http://user:pass:word@example.com:8080/a@b',
  'http://a@b@example.com',
  'http://:@@example.com',
  'http://sub-domain.ex-ample.com',
  'http://münchen.example.中国',
  'http://8.8.8.8:53/',
  'http://223.255.255.254',
  'http://example.com/@/:@',
];
const others = [
  '',
  'example.com',
  '//example.com',
  'gopher://example.com',
  'http://',
  'http://localhost',
  'http://-a.com',
  'http://a-.com',
  'http://a--b.com',
  'http://a..com',
  'http://a.c',
  'http://@example.com',
  'http://example.com:1',
  'http://example.com?a',
  'http://10.0.0.1',
  'http://127.0.0.1:8080/',
  'http://172.16.0.1',
  'http://192.168.1.1',
  'http://1.1.1.255',
  'http://224.1.1.1',
  'http://[::1]/',
  'http://example.com/a b',
  'http://example.com/\n',
  ' http://example.com',
];

describe('a text of the format url', () => {
  for (const text of urls) it(`is ${text}`, () => assert.ok(isUrl(text)));
  for (const text of others) it(`is not ${JSON.stringify(text)}`, () => assert.ok(!isUrl(text)));

  it('is what ajv-formats says it is', () => {
    const piece = fc.constantFrom(...Array.from('a1é-.:@/?#% '), 'ftp://', 'a.bc', '8.8.8.8', '10.', ':80');
    const text = fc.array(piece, { maxLength: 12 }).map((pieces) => pieces.join(''));
    const format = fullFormats.url as RegExp;
    fc.assert(
      fc.property(fc.constantFrom('', 'http://', 'http://a.bc'), text, (start, rest) => {
        assert.equal(isUrl(start + rest), format.test(start + rest));
      }),
      { numRuns: 1200 },
    );
  });

  it('is told in time with its length', () => {
    for (const part of [':@', 'a@', '@a.bc/', '@a.bc:80', 'a-', 'a.', 'a']) {
      const text = `http://example.com/${part.repeat(300_000)}`;
      doesNotHang(() => assert.ok(isUrl(text)));
      doesNotHang(() => assert.ok(!isUrl(`${text}\n`)));
      doesNotHang(() => isUrl(`http://${part.repeat(300_000)}`));
    }
  });
});
