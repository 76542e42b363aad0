import type { Config } from '../config/config.ts';
import { findKeysInBoth } from '../keys/keys-in-both.ts';
import { StoreUnavailable } from '../stores/ledger.ts';
import type { Store } from '../stores/store.ts';
import type { Logger } from '../telemetry/log.ts';

/** Logs which keys are in both the file and the store. A store that is away is not waited for. */
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
