import { printAddress } from './addresses.ts';
import type { Address, RedisServers, StoreAddress } from './config.ts';

/** A store address for people to read. It never shows user or password. */
export function printStore(address: StoreAddress): string {
  if (address.kind === 'sqlite') return `sqlite ${address.path}`;
  const db = address.db === 0 ? '' : `, database ${address.db}`;
  return `redis ${printServers(address.servers)}${db}${address.tls === undefined ? '' : ', TLS'}`;
}

/** The servers of a Redis for people to read. */
export function printServers(servers: RedisServers): string {
  if (servers.kind === 'single') return printAddress(servers.address);
  if (servers.kind === 'cluster') return `cluster ${printAll(servers.nodes)}`;
  return `${servers.master} of sentinels ${printAll(servers.sentinels)}`;
}

function printAll(addresses: readonly Address[]): string {
  return addresses.map(printAddress).join(' ');
}
