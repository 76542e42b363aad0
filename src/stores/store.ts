import type { Ledger } from './ledger.ts';

/** What the gateway knows of a key. It holds no secret: secrets rest beside it as SHA-256. */
export interface KeyRecord {
  readonly id: string;
  readonly plan: string;
  readonly enabled: boolean;
  /** Milliseconds since the epoch; undefined = never. */
  readonly expiresAt: number | undefined;
}

/** Finds keys by the SHA-256 of their secret. Rejects only when the store itself fails, never for an unknown key. */
export interface KeyStore {
  findKey(digest: string): Promise<KeyRecord | undefined>;
  /** Writes a key and the digests of its live secrets, replacing what was there. */
  putKey(record: KeyRecord, digests: readonly string[]): Promise<void>;
}

/** One database behind the gateway. */
export interface Store {
  readonly keys: KeyStore;
  readonly ledger: Ledger;
  /** Resolves when the store answers, rejects with the reason when it does not. */
  ping(): Promise<void>;
  close(): Promise<void>;
}
