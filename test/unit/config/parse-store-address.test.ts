import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parseStoreAddress, StoreAddressError } from '../../../src/config/parse-store-address.ts';

const plain = {
  kind: 'redis',
  username: undefined,
  password: undefined,
  db: 0,
  tls: undefined,
  prefix: 'gatehouse:',
};
const unlocked = { sentinelUsername: undefined, sentinelPassword: undefined };

const readable: readonly { text: string; means: object }[] = [
  { text: 'sqlite:./data/g.db', means: { kind: 'sqlite', path: './data/g.db' } },
  { text: 'sqlite:///var/lib/g.db', means: { kind: 'sqlite', path: '/var/lib/g.db' } },
  { text: 'SQLite:/g.db', means: { kind: 'sqlite', path: '/g.db' } },
  { text: 'sqlite:/my data//g.db', means: { kind: 'sqlite', path: '/my data//g.db' } },
  { text: 'redis://h', means: { ...plain, servers: single('h', 6379) } },
  { text: 'redis://h:65535/0', means: { ...plain, servers: single('h', 65_535) } },
  { text: 'redis://h:1/3', means: { ...plain, servers: single('h', 1), db: 3 } },
  { text: 'redis://[::1]:7', means: { ...plain, servers: single('::1', 7) } },
  {
    text: 'redis://u%40x:p%3A%2F@h',
    means: { ...plain, servers: single('h', 6379), username: 'u@x', password: 'p:/' },
  },
  { text: 'redis://:p@q@h', means: { ...plain, servers: single('h', 6379), password: 'p@q' } },
  { text: 'redis://:p@h', means: { ...plain, servers: single('h', 6379), password: 'p' } },
  { text: 'redis://h?prefix=a:', means: { ...plain, servers: single('h', 6379), prefix: 'a:' } },
  { text: 'rediss://h', means: { ...plain, servers: single('h', 6379), tls: { caFile: undefined } } },
  {
    text: 'rediss://h?ca=/me@ca.pem',
    means: { ...plain, servers: single('h', 6379), tls: { caFile: '/me@ca.pem' } },
  },
  {
    text: 'redis+sentinel://a:1,b/main/2',
    means: {
      ...plain,
      servers: { kind: 'sentinel', sentinels: [at('a', 1), at('b', 26_379)], master: 'main', ...unlocked },
      db: 2,
    },
  },
  {
    text: 'redis+sentinel://a/m%20n?sentinelUsername=s&sentinelPassword=t',
    means: {
      ...plain,
      servers: {
        kind: 'sentinel',
        sentinels: [at('a', 26_379)],
        master: 'm n',
        sentinelUsername: 's',
        sentinelPassword: 't',
      },
    },
  },
  {
    text: 'redis+sentinel://:p+q@a/m?sentinelPassword=s+t=%26',
    means: {
      ...plain,
      servers: {
        kind: 'sentinel',
        sentinels: [at('a', 26_379)],
        master: 'm',
        sentinelUsername: undefined,
        sentinelPassword: 's+t=&',
      },
      password: 'p+q',
    },
  },
  {
    text: 'rediss+cluster://:p@a:1,b:2/0',
    means: {
      ...plain,
      servers: { kind: 'cluster', nodes: [at('a', 1), at('b', 2)] },
      password: 'p',
      tls: { caFile: undefined },
    },
  },
];
for (const { text, means } of readable) {
  test(`${text} is read`, () => assert.deepEqual(parseStoreAddress(text), means));
}

const unreadable: readonly { text: string; says: RegExp }[] = [
  { text: '', says: /a store is written as sqlite:/ },
  { text: 'postgres://swordfish@h', says: /a store is written as/ },
  { text: 'sqlite:', says: /needs a file/ },
  { text: 'sqlite::memory:', says: /need a file that stays/ },
  { text: 'sqlite:./swordfish.db\n', says: /no blank or line break at its ends/ },
  { text: ' redis://u:swordfish@h', says: /no blank or line break at its ends/ },
  { text: 'sqlite:./sword\u0007fish.db', says: /no control characters/ },
  { text: 'redis:h', says: /needs "\/\/"/ },
  ...['sword/fish', 'sword#fish', 'sword?fish', 'sword/fi/sh', '#swordfish', 'sword/fish?#'].map(
    (password) => ({
      text: `redis://u:${password}@h:1`,
      says: /^write \/ \? # @ in a user or password as %2F %3F %23 %40$/,
    }),
  ),
  ...['sword?fi=sh', 'sword?fi&sh='].map((password) => ({
    text: `redis://u:${password}@h:1`,
    says: /^the parameters are ca, .*; write \/ \? # @ in a user or password as %2F %3F %23 %40$/,
  })),
  ...['redis+cluster://u:swordfish@a:1,u:swordfish@b:2', 'redis+sentinel://:swordfish@a,:swordfish@b/m'].map(
    (text) => ({
      text,
      says: /^write user and password once, in front of all servers, and @ in them as %40$/,
    }),
  ),
  { text: 'redis://h/0#', says: /^write \/ \? # @/ },
  { text: 'rediss://h?ca=', says: /^ca needs a file/ },
  { text: 'redis://swordfish@h', says: /:password@/ },
  { text: 'redis://u:swordfish%@h', says: /%25/ },
  { text: 'redis+sentinel://a/m?sentinelPassword=swordfish%', says: /%25/ },
  { text: 'redis://h:65536', says: /host:port/ },
  { text: 'redis://h:0', says: /host:port/ },
  { text: 'redis://', says: /host:port/ },
  { text: 'redis://a b:1', says: /host:port/ },
  { text: 'redis://h:1x', says: /host:port/ },
  { text: 'redis://a,b', says: /redis\+cluster/ },
  ...['zero', 'db1', '1st', '100000'].map((db) => ({ text: `redis://h/${db}`, says: /whole number/ })),
  { text: 'redis://h/1/2', says: /too many parts/ },
  { text: 'redis://h?ca=/x', says: /rediss/ },
  {
    text: 'redis://h?password=swordfish',
    says: /parameters are ca, prefix, sentinelUsername, sentinelPassword$/,
  },
  { text: 'redis://h?prefix=a&prefix=b', says: /prefix must be given once/ },
  { text: 'redis+sentinel://h/m?sentinelPassword=sword&sentinelPassword=fish', says: /given once/ },
  { text: 'redis://h?prefix={a}', says: /braces/ },
  { text: 'redis://h?sentinelPassword=swordfish', says: /needs redis\+sentinel/ },
  { text: 'rediss+cluster://h?sentinelUsername=swordfish', says: /needs rediss\+sentinel/ },
  ...['', '/'].map((path) => ({ text: `redis+sentinel://h${path}`, says: /name of the master/ })),
  { text: 'redis+cluster://h/1', says: /no numbered databases/ },
];
for (const { text, says } of unreadable) {
  test(`${JSON.stringify(text)} is refused without being quoted`, () => {
    assert.throws(
      () => parseStoreAddress(text),
      (error) =>
        error instanceof StoreAddressError && says.test(error.message) && !/swordf|fish/.test(error.message),
    );
  });
}

function at(host: string, port: number): object {
  return { host, port };
}

function single(host: string, port: number): object {
  return { kind: 'single', address: at(host, port) };
}
