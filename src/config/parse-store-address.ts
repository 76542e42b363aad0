import { isIPv6 } from 'node:net';
import type { Address, RedisAddress, RedisServers, StoreAddress } from './config.ts';

/** What is wrong with a store address. The message never quotes it, because any part of it may hold a password. */
export class StoreAddressError extends Error {
  override readonly name = 'StoreAddressError';
}

const forms =
  'sqlite:./data/gatehouse.db, redis://host:6379/0, rediss://…, redis+sentinel://host:26379/master or redis+cluster://host:6379';
const escapes = 'write / ? # @ in a user or password as %2F %3F %23 %40';
const addressParts = /^:\/\/([^/?#]*)(\/[^?#]*)?(?:\?([^#]*))?(#.*)?$/s;
const defaultPrefix = 'gatehouse:';
const sentinelParameters = ['sentinelUsername', 'sentinelPassword'];
const knownParameters = new Set(['ca', 'prefix', ...sentinelParameters]);

/** Reads the `store:` of the configuration. Throws a `StoreAddressError`. */
export function parseStoreAddress(text: string): StoreAddress {
  // A block of YAML, or a file that a value is read from, ends with a line break.
  if (/^\s|\s$|\p{Cc}/u.test(text)) {
    throw new StoreAddressError('must hold no control characters, and no blank or line break at its ends');
  }
  const colon = text.indexOf(':');
  const scheme = text.slice(0, Math.max(colon, 0)).toLowerCase();
  if (scheme === 'sqlite') return parseSqlite(text.slice(colon + 1));
  const match = /^(redis|rediss)(?:\+(sentinel|cluster))?$/.exec(scheme);
  if (match === null) throw new StoreAddressError(`a store is written as ${forms}`);
  const rest = text.slice(colon);
  if (!rest.startsWith('://')) throw new StoreAddressError(`${scheme}: needs "//" and servers`);
  const [, authority = '', path = '', query = '', fragment = ''] = addressParts.exec(rest) ?? [];
  // If a password was cut short, the rest holds the @ that ends it.
  if (fragment !== '' || path.includes('@') || /^[^=]*@/.test(query)) throw new StoreAddressError(escapes);
  const parameters = readQuery(query);
  const secure = match[1] === 'rediss';
  const ca = parameters.get('ca');
  if (ca === '') throw new StoreAddressError('ca needs a file, for example ?ca=/etc/ssl/redis-ca.pem');
  if (ca !== undefined && !secure) throw new StoreAddressError('ca needs TLS: write rediss instead of redis');
  const shape = (match[2] ?? 'single') as Shape;
  const idle = sentinelParameters.find((name) => parameters.has(name));
  if (idle !== undefined && shape !== 'sentinel')
    throw new StoreAddressError(`${idle} needs ${match[1]}+sentinel`);
  return {
    kind: 'redis',
    ...readAuthority(authority, shape, { path, parameters }),
    tls: secure ? { caFile: ca } : undefined,
    prefix: readPrefix(parameters.get('prefix') ?? defaultPrefix),
  };
}

function parseSqlite(rest: string): StoreAddress {
  const path = rest.startsWith('//') ? rest.slice(2) : rest;
  if (path === '')
    throw new StoreAddressError('sqlite: needs a file, for example sqlite:./data/gatehouse.db');
  // A path like any other here, it would become a file of that name.
  if (path === ':memory:')
    throw new StoreAddressError(
      'keys and usage need a file that stays, for example sqlite:./data/gatehouse.db',
    );
  return { kind: 'sqlite', path };
}

/** By hand, because `URLSearchParams` takes a `+` for a space, and passwords have them. */
function readQuery(query: string): Query {
  const parameters = new Map<string, string>();
  for (const pair of query.split('&').filter(Boolean)) {
    const [name = '', ...value] = pair.split('=');
    if (!knownParameters.has(name)) {
      const cure = query.includes('@') ? `; ${escapes}` : '';
      throw new StoreAddressError(`the parameters are ${[...knownParameters].join(', ')}${cure}`);
    }
    if (parameters.has(name)) throw new StoreAddressError(`${name} must be given once`);
    parameters.set(name, decode(value.join('=')));
  }
  return parameters;
}

function readPrefix(prefix: string): string {
  // The first braces of a key decide its slot in a cluster, and those are ours.
  if (/[{}\s]/.test(prefix)) throw new StoreAddressError('a prefix must not hold braces or spaces');
  return prefix;
}

type Shape = RedisServers['kind'];
type Query = ReadonlyMap<string, string>;
type Rest = { readonly path: string; readonly parameters: Query };

function readAuthority(
  authority: string,
  shape: Shape,
  { path, parameters }: Rest,
): Pick<RedisAddress, 'servers' | 'username' | 'password' | 'db'> {
  // All up to the last @ would be taken for one password.
  if (/^[^@]*@[^,]*,[^@]*@/.test(authority))
    throw new StoreAddressError(
      'write user and password once, in front of all servers, and @ in them as %40',
    );
  const at = authority.lastIndexOf('@');
  const [username, password] = readUser(at < 0 ? '' : authority.slice(0, at));
  const addresses = authority
    .slice(at + 1)
    .split(',')
    .map((part) => readServer(part, shape === 'sentinel' ? 26_379 : 6_379));
  const segments = path.split('/').slice(1).map(decode);
  const master = shape === 'sentinel' ? segments.shift() : undefined;
  const [db = '', ...more] = segments;
  if (more.length > 0) throw new StoreAddressError('the path of a store address has too many parts');
  return {
    servers: readServers(shape, addresses, { master, parameters }),
    username,
    password,
    db: readDb(db, shape),
  };
}

function readServers(
  shape: Shape,
  addresses: readonly Address[],
  { master, parameters }: { master: string | undefined; parameters: Query },
): RedisServers {
  if (shape === 'cluster') return { kind: 'cluster', nodes: addresses };
  if (shape === 'sentinel') {
    if (master === undefined || master === '') {
      throw new StoreAddressError(
        'redis+sentinel needs the name of the master: redis+sentinel://host:26379/master',
      );
    }
    const sentinelUsername = parameters.get('sentinelUsername');
    const sentinelPassword = parameters.get('sentinelPassword');
    return { kind: 'sentinel', sentinels: addresses, master, sentinelUsername, sentinelPassword };
  }
  const [address, ...others] = addresses;
  if (address === undefined || others.length > 0) {
    throw new StoreAddressError('several servers are written with redis+sentinel:// or redis+cluster://');
  }
  return { kind: 'single', address };
}

function readUser(text: string): [string | undefined, string | undefined] {
  if (text === '') return [undefined, undefined];
  const colon = text.indexOf(':');
  if (colon < 0) throw new StoreAddressError('write :password@ or user:password@ in front of the servers');
  const username = decode(text.slice(0, colon));
  return [username === '' ? undefined : username, decode(text.slice(colon + 1))];
}

function readServer(text: string, defaultPort: number): Address {
  const [, six, name, digits] = /^(?:\[([0-9a-fA-F:.]+)\]|([^:[\]@\s]+))(?::(\d{1,5}))?$/.exec(text) ?? [];
  const host = six !== undefined && isIPv6(six) ? six : name;
  const port = Number(digits ?? defaultPort);
  if (host === undefined || port < 1 || port > 65_535) {
    throw new StoreAddressError('a server is written host:port, and several are separated by commas');
  }
  return { host, port };
}

function readDb(text: string, shape: Shape): number {
  if (text === '') return 0;
  if (!/^\d{1,5}$/.test(text)) throw new StoreAddressError('the number of a database is a whole number');
  if (shape === 'cluster' && Number(text) !== 0)
    throw new StoreAddressError('a cluster has no numbered databases');
  return Number(text);
}

function decode(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    throw new StoreAddressError('the address holds a % that is not percent-encoding; write it as %25');
  }
}
