import { StoreUnavailable } from '../ledger.ts';

/** An answer that none of our scripts gives: whatever speaks there is not the Redis that was asked. */
export function notUnderstood(): StoreUnavailable {
  return new StoreUnavailable('Redis answered with something that is not known', { mayHaveHappened: true });
}
