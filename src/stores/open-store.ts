import type { StoreAddress } from '../config/config.ts';
import { openSqlite } from './sqlite/open-sqlite.ts';
import type { Store } from './store.ts';

export interface StoreOptions {
  /** How long a call may take before it rejects with `StoreUnavailable`. Default 250. */
  readonly deadlineMs?: number;
}

/**
 * Opens the store behind an address. A file that cannot be used rejects; a Redis that is not there yet does not, its
 * calls reject until it is.
 */
export async function openStore(
  address: StoreAddress,
  { deadlineMs = 250 }: StoreOptions = {},
): Promise<Store> {
  if (address.kind === 'sqlite') return openSqlite(address.path, { deadlineMs });
  // Loaded only here: its client costs memory that the embedded store does not need.
  const { openRedis } = await import('./redis/open-redis.ts');
  return openRedis(address, deadlineMs);
}
