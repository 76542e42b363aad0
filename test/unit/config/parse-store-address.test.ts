import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parseStoreAddress } from '../../../src/config/parse-store-address.ts';

const readable: readonly (readonly [text: string, means: object])[] = [
  ['sqlite:./data/g.db', { kind: 'sqlite', path: './data/g.db' }],
  ['sqlite:///var/lib/g.db', { kind: 'sqlite', path: '/var/lib/g.db' }],
  ['SQLite:/g.db', { kind: 'sqlite', path: '/g.db' }],
  ['sqlite:/my data//g.db', { kind: 'sqlite', path: '/my data//g.db' }],
  ['redis://h', redis(single('h'))],
  ['redis://h:65535/0', redis(single('h', 65_535))],
  ['redis://h:1/3', redis(single('h', 1), { db: 3 })],
  ['redis://[::1]:7', redis(single('::1', 7))],
  ['redis://u%40x:p%3A%2F@h', redis(single('h'), { username: 'u@x', password: 'p:/' })],
  ['redis://:p@q@h', redis(single('h'), { password: 'p@q' })],
  ['redis://:p@h', redis(single('h'), { password: 'p' })],
  ['redis://h?prefix=a:', redis(single('h'), { prefix: 'a:' })],
  ['rediss://h', redis(single('h'), { tls: { caFile: undefined } })],
  ['rediss://h?ca=/me@ca.pem', redis(single('h'), { tls: { caFile: '/me@ca.pem' } })],
  ['redis+sentinel://a:1,b/main/2', redis(sentinel('main', at('a', 1), at('b', 26_379)), { db: 2 })],
  [
    'redis+sentinel://a/m%20n?sentinelUsername=s&sentinelPassword=t',
    redis({ ...sentinel('m n', at('a', 26_379)), sentinelUsername: 's', sentinelPassword: 't' }),
  ],
  [
    'redis+sentinel://:p+q@a/m?sentinelPassword=s+t=%26',
    redis({ ...sentinel('m', at('a', 26_379)), sentinelPassword: 's+t=&' }, { password: 'p+q' }),
  ],
  [
    'rediss+cluster://:p@a:1,b:2/0',
    redis(
      { kind: 'cluster', nodes: [at('a', 1), at('b', 2)] },
      { password: 'p', tls: { caFile: undefined } },
    ),
  ],
];
for (const [text, means] of readable) {
  test(`${text} is read`, () => assert.deepEqual(parseStoreAddress(text), means));
}

const escapes = /^write \/ \? # @ in a user or password as %2F %3F %23 %40$/;
const unreadable: readonly (readonly [says: RegExp, ...texts: string[]])[] = [
  [/^a store is written as sqlite:/, '', 'postgres://swordfish@h'],
  [/needs a file, for example sqlite:/, 'sqlite:'],
  [/need a file that stays/, 'sqlite::memory:'],
  [/no control characters/, 'sqlite:./sword\u0007fish.db'],
  [/no blank or line break at its ends/, 'sqlite:./swordfish.db\n', ' redis://u:swordfish@h'],
  [/needs "\/\/"/, 'redis:h'],
  [escapes, 'redis://u:sword/fish@h:1', 'redis://u:sword#fish@h:1', 'redis://u:sword?fish@h:1'],
  [escapes, 'redis://u:sword/fi/sh@h:1', 'redis://u:#swordfish@h:1', 'redis://u:sword/fish?#@h:1'],
  [escapes, 'redis://h/0#'],
  [/^the parameters .*; write \/ \? # @/, 'redis://u:sword?fi=sh@h:1', 'redis://u:sword?fi&sh=@h:1'],
  [
    /^write user and password once, in front of all servers/,
    'redis+cluster://u:swordfish@a:1,u:swordfish@b:2',
  ],
  [/^write user and password once, .* and @ in them as %40$/, 'redis+sentinel://:swordfish@a,:swordfish@b/m'],
  [/^ca needs a file/, 'rediss://h?ca='],
  [/^ca needs TLS: write rediss/, 'redis://h?ca=/x'],
  [/:password@/, 'redis://swordfish@h'],
  [/%25/, 'redis://u:swordfish%@h', 'redis+sentinel://a/m?sentinelPassword=swordfish%'],
  [/host:port/, 'redis://h:65536', 'redis://h:0', 'redis://', 'redis://a b:1', 'redis://h:1x'],
  [/host:port/, 'redis://[1:2]:6379', 'redis://[::1', 'redis://[1.2.3.4]', 'redis+cluster://a,[:::]:1'],
  [/redis\+cluster/, 'redis://a,b'],
  [/whole number/, 'redis://h/zero', 'redis://h/db1', 'redis://h/1st', 'redis://h/100000'],
  [/too many parts/, 'redis://h/1/2'],
  [/parameters are ca, prefix, sentinelUsername, sentinelPassword$/, 'redis://h?password=swordfish'],
  [/prefix must be given once/, 'redis://h?prefix=a&prefix=b'],
  [/given once/, 'redis+sentinel://h/m?sentinelPassword=sword&sentinelPassword=fish'],
  [/braces/, 'redis://h?prefix={a}'],
  [/needs redis\+sentinel/, 'redis://h?sentinelPassword=swordfish'],
  [/needs rediss\+sentinel/, 'rediss+cluster://h?sentinelUsername=swordfish'],
  [/name of the master/, 'redis+sentinel://h', 'redis+sentinel://h/'],
  [/no numbered databases/, 'redis+cluster://h/1'],
];
for (const [says, ...texts] of unreadable) {
  test(`what is refused because of ${says.source} is not quoted`, () => {
    for (const text of texts)
      assert.throws(
        () => parseStoreAddress(text),
        ({ name, message }: Error) =>
          name === 'StoreAddressError' && says.test(message) && !/swordf|fish/.test(message),
        text,
      );
  });
}

function redis(servers: object, others: object = {}): object {
  const plain = { username: undefined, password: undefined, db: 0, tls: undefined, prefix: 'gatehouse:' };
  return { kind: 'redis', servers, ...plain, ...others };
}

function single(host: string, port = 6379): object {
  return { kind: 'single', address: at(host, port) };
}

function sentinel(master: string, ...sentinels: readonly object[]): object {
  return { kind: 'sentinel', sentinels, master, sentinelUsername: undefined, sentinelPassword: undefined };
}

function at(host: string, port: number): object {
  return { host, port };
}
