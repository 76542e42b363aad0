import type { KeyStore } from './key-store.ts';
import type { Ledger } from './ledger.ts';

/** One database behind the gateway. What fails rejects: nothing throws synchronously. */
export interface Store {
  readonly keys: KeyStore;
  readonly ledger: Ledger;
  /** Tells an SQLite database from another that comes in its place. */
  readonly identity: string | undefined;
  /** Resolves when the store answers, rejects with the reason when it does not. */
  ping(): Promise<void>;
  /** The same, but also rejects when the store takes no writes: without them no quota can be counted. */
  probe(): Promise<void>;
  close(): Promise<void>;
}

/** How a store is opened. */
export interface StoreOptions {
  /** How long a call may take before it rejects with `StoreUnavailable`. Default 250. */
  readonly deadlineMs?: number;
  /** Whether a missing SQLite file is made. Default true. */
  readonly create?: boolean;
  /** The identity that the SQLite database must have, which is not made then. */
  readonly identity?: string | undefined;
  /** Hears of a file that was made. */
  readonly onCreate?: (path: string) => void;
  /** Hears why the log of an SQLite file cannot be copied into it, so that the log grows. */
  readonly onLogStuck?: (reason: string) => void;
  /** Hears that the -wal or -shm of an open SQLite file was removed: whoever opens the file now counts apart. */
  readonly onLogRemoved?: () => void;
  /**
   * Hears that a Redis whose keys are watched has lost changes that it had: those after `since`, up to `until` at least. `since` is 0
   * if it has no older one either.
   */
  readonly onSetBack?: (lost: { readonly since: number; readonly until: number }) => void;
  /** Hears the policy (`allkeys-lru`) by which a Redis would throw keys and usage away. */
  readonly onEvicting?: (policy: string) => void;
}
