import type { StoreAddress } from '../config/config.ts';
import { openSqlite } from './sqlite/open-sqlite.ts';
import type { Store, StoreOptions } from './store.ts';

/**
 * Opens the store at an address. A file that cannot be used rejects; a Redis that is not there yet does not: its calls reject
 * until it is.
 */
export async function openStore(address: StoreAddress, options: StoreOptions = {}): Promise<Store> {
  if (address.kind === 'sqlite') return openSqlite(address.path, options);
  // Loaded only here: its client costs memory that the embedded store does not need.
  const { openRedis } = await import('./redis/open-redis.ts');
  return openRedis(address, options);
}
