import type { StoreAddress } from '../../src/config/config.ts';
import { openStore } from '../../src/stores/open-store.ts';
import type { Store, StoreOptions } from '../../src/stores/store.ts';
import type { Scene } from './poll.ts';

/** For calls that are to be answered: Redis may have to wait for a processor, or for the disk, for seconds. */
const patientMs = 10_000;

/** Opens a store whose deadline no call runs into, unless the options name another, and closes it after the test. */
export async function openPatiently(
  t: Scene,
  address: StoreAddress,
  options: StoreOptions = {},
): Promise<Store> {
  const store = await openStore(address, { deadlineMs: patientMs, ...options });
  t.after(() => store.close());
  return store;
}
