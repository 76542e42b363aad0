import { randomUUID } from 'node:crypto';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import type { StoreAddress } from '../../src/config/config.ts';
import { parseStoreAddress } from '../../src/config/parse-store-address.ts';
import { tempFolder } from './temp-folder.ts';

export interface StoreKind {
  readonly name: string;
  /** A fresh, empty store that several processes can open. */
  readonly address: (t: TestContext) => StoreAddress;
}

/** Both kinds. Of the second one server serves all tests: each has its own prefix. */
export function storeKinds(redis: { readonly url: string }): readonly StoreKind[] {
  return [
    { name: 'SQLite', address: (t) => ({ kind: 'sqlite', path: join(tempFolder(t), 'g.db') }) },
    { name: 'Redis', address: () => parseStoreAddress(`${redis.url}?prefix=${randomUUID()}:`) },
  ];
}
