import type { Charge } from '../config/plan-rule.ts';
import { writeLimitHeaders } from './answer-headers.ts';
import type { Cell } from './key-rate.ts';
import type { Reservation } from './leases/lease.ts';
import type { Leases } from './leases/leases.ts';
import type { Place } from './places/concurrency.ts';
import { readQuotas, type QuotaReading } from './quota-reading.ts';
import type { Warnings } from './warnings.ts';

/**
 * What became of a request: never sent upstream; sent, but no answer came, because the upstream failed or was too slow
 * or the client left first; or answered by the upstream.
 */
export type Outcome =
  | { readonly kind: 'unsent' }
  | { readonly kind: 'unanswered' }
  | { readonly kind: 'answered'; readonly status: number };

/** What an answer says about the limits. */
interface LimitNotice {
  readonly headers: Readonly<Record<string, string>>;
  /** Quotas that have just crossed their warning line: worth a line in the log. */
  readonly newWarnings: readonly QuotaReading[];
}

/** What every grant of a process shares. */
export interface GrantParts {
  readonly leases: Leases;
  readonly warnings: Warnings;
}

/** What has been taken for a request so far. */
export interface Taken {
  place: Place | undefined;
  cell: Cell | undefined;
  reservation: Reservation | undefined;
  /** A limit could not be asked, and the plan lets requests through. */
  unasked: boolean;
}

/** Permission for one request: its place, its cell and its units. */
export class Grant {
  readonly kind = 'grant';
  readonly #parts: GrantParts;
  readonly #taken: Readonly<Taken>;
  #settled = false;

  constructor(parts: GrantParts, taken: Readonly<Taken>) {
    this.#parts = parts;
    this.#taken = taken;
  }

  /** A limit could not be asked during an outage; if it is a quota, its units are charged when the store is back. */
  get owed(): boolean {
    return this.#taken.unasked || this.#taken.reservation?.owed === true;
  }

  /** Frees its place, if other processes count that too; undefined otherwise. Only the first call counts. */
  get leavePlace(): (() => void) | undefined {
    const { place } = this.#taken;
    return place?.isShared === true ? place.leave : undefined;
  }

  /** For the headers of the answer, as things stand when it is called. */
  describe(): LimitNotice {
    const { leases, warnings } = this.#parts;
    const { reservation, place, cell } = this.#taken;
    // A lease does not know what its key owes.
    const lease = reservation === undefined || reservation.owed ? undefined : leases.leaseOf(reservation);
    const quotas = lease === undefined ? [] : readQuotas(lease, leases.time.earliest());
    return {
      headers: writeLimitHeaders({ quotas, rate: cell?.reading, concurrency: place?.reading }),
      newWarnings: lease === undefined ? [] : warnings.findNew(lease, quotas),
    };
  }

  /**
   * Charges the units, or the cost that the upstream has told instead, or gives them back; and frees the place. Only the first call
   * counts.
   */
  settle(outcome: Outcome, cost?: number): void {
    if (this.#settled) return;
    this.#settled = true;
    const { reservation, place } = this.#taken;
    if (reservation !== undefined) {
      const isDue = isCharged(reservation.lease.plan.charge, outcome);
      this.#parts.leases.settle(reservation, isDue ? (cost ?? reservation.units) : 0);
    }
    place?.leave();
  }
}

function isCharged(charge: Charge, outcome: Outcome): boolean {
  if (outcome.kind === 'unsent') return false;
  if (charge === 'forwarded') return true;
  return outcome.kind === 'answered' && outcome.status < (charge === 'success' ? 400 : 500);
}
