import type { Config } from '../config/config.ts';
import { findKeysInBoth } from '../keys/keys-in-both.ts';
import { StoreUnavailable } from '../stores/ledger.ts';
import type { Store } from '../stores/store.ts';
import type { Logger } from '../telemetry/log.ts';

/** Tells in the log which keys stand in the file and in the store. A store that is away is no reason to wait for it. */
export async function tellKeysInBoth({ keys }: Config, store: Store, logger: Logger): Promise<void> {
  const keyIds = await findKeysInBoth(keys, store.keys).catch((error: unknown) => {
    if (error instanceof StoreUnavailable) return [];
    throw error;
  });
  if (keyIds.length === 0) return;
  logger.warn(
    { keyIds },
    'keys of the file are in the store, too: until they are revoked there, both may work',
  );
}
