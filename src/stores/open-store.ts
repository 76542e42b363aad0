import type { StoreAddress } from '../config/config.ts';
import { openSqlite } from './sqlite/open-sqlite.ts';
import type { Store } from './store.ts';

export interface StoreOptions {
  /** How long a call may take before it rejects with `StoreUnavailable`. Default 250. */
  readonly deadlineMs?: number;
}

/** Opens the store behind an address. */
export function openStore(address: StoreAddress, options: StoreOptions = {}): Promise<Store> {
  return openSqlite(address.path, options);
}
