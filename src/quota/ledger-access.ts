import type { Ledger } from '../stores/ledger.ts';
import type { Clock } from '../waiting/clock.ts';

/** How one process works with the ledger. */
export interface LedgerAccess {
  readonly ledger: Ledger;
  readonly clock: Clock;
  /** The name under which this process draws. Processes that run at the same time have different ones. */
  readonly holder: string;
  /** The store's deadline: no request waits longer for it, however many calls it takes. */
  readonly deadlineMs: number;
  /** Told of errors that are not outages: faults in the program. */
  readonly onError: (error: unknown) => void;
}
