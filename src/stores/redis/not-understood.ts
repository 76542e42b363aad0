import { StoreUnavailable } from '../ledger.ts';

/** An answer such as no script of ours gives: whatever speaks there is not the Redis that was asked. */
export function notUnderstood(): StoreUnavailable {
  return new StoreUnavailable('Redis answered with something that is not known', { mayHaveHappened: true });
}
