import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import {
  addOwn,
  copyHeaders,
  createRequestHeaderFilter,
  responseHeaderPasses,
  takeHeader,
  valueOf,
} from '../../../src/wire/headers.ts';
import { memoryUsed } from '../../helpers/collect-garbage.ts';

const passes = createRequestHeaderFilter(['apiKey'], false);

const listed = (...lines: readonly string[]): string[] => lines.flatMap((line) => line.split(' '));
const pass = listed(
  'Accept Authorization Cookie Content-Type CONTENT-TYPE Content-Encoding X-Custom x_custom X-Gatehouse Range',
);
const stay = listed(
  'apiKey APIKEY Connection Keep-Alive keep_alive Proxy-Authorization TE Trailer Transfer-Encoding',
  'transfer_encoding Transfer.Encoding Upgrade HTTP2-Settings Content-Length Content_Length Content_Type',
  'content.type Content_Encoding Host Expect Forwarded X-Real-IP X-Request-Id X_Request.Id X-Gatehouse-Key-Id',
  'x_gatehouse.key-id X-Forwarded-For X_Forwarded_Anything Proxy X-HTTP-Method-Override X-Original-URL',
  ..."!#$%&'*+^`|~".split('').map((sign) => ['X', 'Gatehouse', 'Key', 'Id'].join(sign)),
);

describe('createRequestHeaderFilter', () => {
  it('tells what passes from what stays', () => {
    for (const name of [...pass, ...stay]) assert.equal(passes(name), pass.includes(name), name);
  });

  it('does not keep the names that clients make up', () => {
    const before = memoryUsed();
    for (let n = 0; n < 300_000; n += 1) passes(`X-Made-Up-${n}`);
    const grownBytes = memoryUsed() - before;
    assert.ok(grownBytes < 3_000_000, `${grownBytes} bytes`);
    // What is decided anew after them is decided as before.
    for (const name of [...pass, ...stay]) assert.equal(passes(name), pass.includes(name), name);
  });

  it('keeps the key in every spelling of its header', () => {
    const other = createRequestHeaderFilter(['X-Api_Key'], false);
    for (const name of ['X-Api-Key', 'x_api_key', 'X.API.KEY', 'x!api~key']) assert.equal(other(name), false);
  });

  it('lets the key pass only when asked', () => {
    assert.equal(createRequestHeaderFilter(['apiKey'], true)('apikey'), true);
    const forwards = createRequestHeaderFilter(['X-Api-Key'], true);
    assert.equal(forwards('x-API-key'), true);
    for (const name of ['X_Api_Key', 'x.api.key', 'X-Api!Key'])
      assert.equal(forwards(name), false, `nobody has looked at the key in ${name}`);
  });

  it('keeps the key in all of its headers, and lets each of them pass when asked', () => {
    const names = ['apiKey', 'X-Api-Key', 'X_Old_Key'];
    const [keeps, lets] = [false, true].map((forwardKey) => createRequestHeaderFilter(names, forwardKey));
    for (const name of ['APIKEY', 'x-api-key', 'X_OLD_KEY']) {
      assert.deepEqual([keeps?.(name), lets?.(name)], [false, true], name);
    }
    for (const name of ['X_Api_Key', 'X-Old-Key', 'x.old_key']) {
      assert.deepEqual([keeps?.(name), lets?.(name)], [false, false], name);
    }
  });
});

describe('responseHeaderPasses', () => {
  const names: [name: string, passes: boolean][] = [
    ['Content-Type', true],
    ['Content-Length', true],
    ['Set-Cookie', true],
    ['Deprecation', true],
    ['Connection', false],
    ['Transfer-Encoding', false],
    ['Upgrade', false],
    ['X-Request-Id', false],
    ['X-Gatehouse-Refusal', false],
    ['x_gatehouse_refusal', false],
    ['x!gatehouse~refusal', false],
  ];
  for (const [name, expected] of names) {
    it(`${expected ? 'lets' : 'keeps'} ${name}`, () => assert.equal(responseHeaderPasses(name), expected));
  }
});

describe('addOwn', () => {
  const ours = ['X-Request-Id', 'id', 'RateLimit', '"a";r=1', 'Link', '<ours>'];
  const cases: [theirs: string[], left: string[]][] = [
    [
      ['ETag', 'x'],
      ['ETag', 'x'],
    ],
    [
      ['RateLimit', '"b";r=2', 'ETag', 'x', 'rate_limit', '3', 'ratelimit', '"c"'],
      ['ETag', 'x', 'rate_limit', '3'],
    ],
    [
      ['RateLimit-Policy', '"b";q=2', 'Sunset', 'never', 'Deprecation', '@1'],
      ['RateLimit-Policy', '"b";q=2', 'Sunset', 'never', 'Deprecation', '@1'],
    ],
    [
      ['Link', '<theirs>'],
      ['Link', '<theirs>'],
    ],
  ];
  for (const [theirs, left] of cases) {
    it(`leaves of ${theirs.join(' ')} what it does not say itself`, () => {
      const to = [...theirs];
      addOwn(to, ours);
      assert.deepEqual(to, [...left, ...ours]);
    });
  }
});

describe('copyHeaders', () => {
  const named = ['X-A', 'x_b', 'Content-Type', 'Content-Length', 'Host'];
  const nominations: [connection: string, left: string[]][] = [
    ['close', named],
    ['Keep-Alive', named],
    ['close, X-A', named.slice(1)],
    ['X_A,  x.b ', named.slice(2)],
    ['Content-Type, Content_Length, HOST, X-A', named.slice(1)],
  ];
  for (const [connection, left] of nominations) {
    it(`leaves ${left.join(' ')} of what "Connection: ${connection}" names, and of the rest`, () => {
      const to: string[] = [];
      const from = ['Connection', connection, ...named.flatMap((name) => [name, '1'])];
      copyHeaders(from, to, (name) => name !== 'Connection');
      assert.deepEqual(
        to,
        left.flatMap((name) => [name, '1']),
      );
    });
  }
  it('keeps order, spelling and repetition, and drops what any Connection line names', () => {
    const lines = [
      ['X-A', '1'],
      ['connection', 'x-b'],
      ['x-a', '2'],
      ['X_B', '3'],
      ['CONNECTION', 'X-C'],
    ];
    const from = [...lines.flat(), 'X-C', '4', 'x-d', ''];
    const to: string[] = [];
    copyHeaders(from, to, passes);
    assert.deepEqual(to, ['X-A', '1', 'x-a', '2', 'x-d', '']);
  });
});

describe('takeHeader', () => {
  const from = ['X-Cost', '3', 'Via', 'one', 'x_cost', '4', 'X-COST', '5'];
  it('takes every one of the name, however it is written, and leaves the others as they are', () => {
    const { value, rest } = takeHeader(from, 'x-cost');
    assert.deepEqual([value, rest], ['3, 4, 5', ['Via', 'one']]);
  });
  it('finds nothing where there is nothing', () => {
    assert.deepEqual(takeHeader(from, 'x-price'), { value: undefined, rest: from });
    assert.deepEqual(takeHeader(['X-Cost', ''], 'x-cost'), { value: '', rest: [] });
  });
});

describe('valueOf', () => {
  const from = ['Connection', 'close', 'Via', 'one', 'CONNECTION', 'x-a, x-b', 'Connection_', 'x'];
  it('makes one list of all lines of the name, and of none that imitates it', () => {
    assert.equal(valueOf(from, 'connection'), 'close,x-a, x-b');
  });
  it('tells an empty value from none', () => {
    assert.equal(valueOf(['Via', ''], 'via'), '');
    assert.equal(valueOf(from, 'upgrade'), undefined);
  });
});
