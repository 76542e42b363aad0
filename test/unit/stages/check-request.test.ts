import assert from 'node:assert/strict';
import { IncomingMessage } from 'node:http';
import { Socket } from 'node:net';
import { describe, it } from 'node:test';
import { checkRequest, type Head } from '../../../src/stages/check-request.ts';
import { refusalOf } from '../../helpers/refusal-of.ts';

interface Parts {
  readonly method?: string;
  readonly target?: string;
  readonly httpVersion?: string;
  readonly headers?: readonly string[];
}

function check(
  { method = 'GET', target = '/a', httpVersion = '1.1', headers = ['Host', 'a'] }: Parts,
  keyHeaders = ['apikey'],
): Head {
  const req = new IncomingMessage(new Socket());
  Object.assign(req, { method, url: target, httpVersion, rawHeaders: headers });
  return checkRequest(req, keyHeaders);
}

function codeOf(parts: Parts): string | undefined {
  return refusalOf(() => check(parts))?.code;
}

const withHost = (...headers: string[]): Parts => ({ headers: ['Host', 'a', ...headers] });

/** What Node's parser refuses before, or may. All else stands in test/e2e/hostile-requests.test.ts. */
const refused: [name: string, parts: Parts, code: string][] = [
  ['an empty target', { target: '' }, 'path_malformed'],
  ['a target without a slash', { target: 'a' }, 'path_malformed'],
  ['a line break', { target: '/a\n' }, 'path_malformed'],
  ['a character above ASCII', { target: '/é' }, 'path_malformed'],
  ['a space in the query', { target: '/a?b c' }, 'request_malformed'],
  ['version 2.0', { httpVersion: '2.0' }, 'request_malformed'],
  ['version 0.9', { httpVersion: '0.9' }, 'request_malformed'],
  ['both framings', withHost('Transfer-Encoding', 'chunked', 'Content-Length', '1'), 'request_malformed'],
  [
    'chunked twice',
    withHost('Transfer-Encoding', 'chunked', 'transfer-encoding', 'chunked'),
    'request_malformed',
  ],
  ['another coding', withHost('Transfer-Encoding', 'gzip, chunked'), 'request_malformed'],
  ['an empty coding', withHost('Transfer-Encoding', ''), 'request_malformed'],
  [
    'chunked on 1.0',
    { ...withHost('Transfer-Encoding', 'chunked'), httpVersion: '1.0' },
    'request_malformed',
  ],
  ['a signed length', withHost('Content-Length', '+1'), 'request_malformed'],
  ['two lengths', withHost('Content-Length', '1', 'Content-Length', '1'), 'request_malformed'],
  ['a length beyond 2^53', withHost('Content-Length', '9007199254740993'), 'request_malformed'],
  ['two encodings', withHost('Content-Encoding', 'a', 'content-encoding', 'b'), 'request_malformed'],
];

const read: [name: string, parts: Parts, head: Partial<Head>][] = [
  ['a plain request', {}, { method: 'GET', path: '/a', query: '', host: 'a', contentLength: 0, keyCount: 0 }],
  ['a query, whatever is in it', { target: '/a?b=/../;' }, { path: '/a', query: '?b=/../;' }],
  ['the key in any letter case', withHost('APIKEY', 'k'), { key: 'k', keyCount: 1 }],
  ['a repeated key', withHost('apiKey', 'k', 'apikey', 'l'), { keyCount: 2 }],
  ['a length', withHost('Content-Length', '0012'), { contentLength: 12 }],
  ['chunks', withHost('Transfer-Encoding', 'Chunked'), { contentLength: undefined }],
  ['an expectation', withHost('Expect', '100-Continue'), { expectsContinue: true }],
  [
    'no expectation on 1.0',
    { ...withHost('Expect', '100-continue'), httpVersion: '1.0' },
    { expectsContinue: false },
  ],
  ['no upgrade that Node did not see', withHost('Upgrade', 'websocket'), { upgrade: undefined }],
  ['a host with a port', { headers: ['Host', '[::1]:65535'] }, { host: '[::1]:65535' }],
];

const keyOf = (keyHeader: string, ...headers: readonly string[]): string | undefined =>
  check(withHost(...headers), [keyHeader]).key;

describe('a key in Authorization', () => {
  const cases = [
    ['Bearer k-1', 'k-1'],
    ['bEARER k-1', 'k-1'],
    ['k-1', 'k-1'],
    ['Bearer', ''],
    ['Bearer   k-1', 'k-1'],
    ['Bearer\tk-1', 'Bearer\tk-1'],
    ['Bearerk-1', 'Bearerk-1'],
    ['Basic k-1', 'Basic k-1'],
    ['Bearer Bearer k-1', 'Bearer k-1'],
  ] as const;
  for (const [value, key] of cases) {
    it(`is ${JSON.stringify(key)} in ${JSON.stringify(value)}`, () => {
      assert.equal(keyOf('authorization', 'AUTHORIZATION', value), key);
    });
  }

  it('is all of the value in any other header', () => {
    assert.equal(keyOf('apikey', 'apiKey', 'Bearer k-1'), 'Bearer k-1');
  });
});

describe('a key in one of several headers', () => {
  const keyHeaders = ['apikey', 'x-api-key', 'authorization'];
  const cases: [headers: string[], expected: Partial<Head>][] = [
    [['APIKEY', 'k'], { key: 'k', keyCount: 1, keyHeader: 'apikey' }],
    [['X-Api-Key', 'k'], { key: 'k', keyCount: 1, keyHeader: 'x-api-key' }],
    [['Authorization', 'Bearer k'], { key: 'k', keyCount: 1 }],
    [['X-API-Key', 'Bearer k'], { key: 'Bearer k', keyCount: 1 }],
    [['X-API-Key', ''], { key: '', keyCount: 1 }],
    [['X_API_Key', 'k'], { key: undefined, keyCount: 0, keyHeader: '' }],
    [['apiKey', 'k', 'X-API-Key', 'k'], { keyCount: 2 }],
    [['apiKey', '', 'Authorization', 'Bearer'], { keyCount: 2 }],
  ];
  for (const [headers, expected] of cases) {
    it(`is read from ${headers.join(' ')}`, () =>
      assert.partialDeepStrictEqual(check(withHost(...headers), keyHeaders), expected));
  }
});

describe('checkRequest', () => {
  for (const [name, parts, code] of refused) {
    it(`refuses ${name}`, () => assert.equal(codeOf(parts), code));
  }
  for (const [name, parts, expected] of read) {
    it(`reads ${name}`, () => assert.partialDeepStrictEqual(check(parts), expected));
  }

  it('tells who sends chunks over HTTP/1.0 that they need another version', () => {
    const refusal = refusalOf(() =>
      check({ ...withHost('Transfer-Encoding', 'chunked'), httpVersion: '1.0' }),
    );
    assert.match(String(refusal?.message), /HTTP\/1\.1/);
  });

  it('takes time with the length of the path only', () => {
    const started = performance.now();
    codeOf({ target: '/a'.repeat(50_000) + '%' });
    codeOf({ target: '/%20'.repeat(50_000) + ';' });
    codeOf({ target: '/' + 'a'.repeat(100_000) + '\n' });
    assert.ok(performance.now() - started < 8000);
  });
});
