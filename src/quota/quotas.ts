import { StoreUnavailable } from '../stores/ledger.ts';
import type { Ledger } from '../stores/ledger.ts';
import { writeLimitHeaders } from './answer-headers.ts';
import type { ConcurrencyReading, RateReading } from './answer-headers.ts';
import type { Clock } from '../waiting/clock.ts';
import { createConcurrency } from './concurrency.ts';
import type { Concurrency, Full, Place } from './concurrency.ts';
import { createGrant } from './grants.ts';
import type { Grant, GrantOffice } from './grants.ts';
import type { Denial, Hold, ReserveOrder } from './leases/lease.ts';
import { createLeases } from './leases/leases.ts';
import type { LeaseCounts } from './leases/leases.ts';
import type { PlanRule } from '../config/plan-rule.ts';
import { readQuotas, secondsUntil, type QuotaReading } from './quota-reading.ts';
import type { Cell, TooFast } from './pace.ts';
import { createRates } from './rates.ts';
import type { Rates } from './rates.ts';
import type { UsageReading } from './usage-reading.ts';
import { createWarnings } from './warnings.ts';

/** A request that the limits of its key turn away. A value, because it is an everyday answer. */
export interface QuotaRefusal {
  readonly kind: 'refusal';
  readonly code: 'quota_exhausted' | 'rate_exceeded' | 'too_many_in_flight' | 'quota_unavailable';
  /** For the answer, `Retry-After` included, unless waiting does not help. It is never earlier than the truth. */
  readonly headers: Readonly<Record<string, string>>;
  /** Quotas that were used up in one go, of which no answer told that they are near their limit. */
  readonly newWarnings: readonly QuotaReading[];
  /** For the log: the outage behind `quota_unavailable`. */
  readonly cause: unknown;
}

/** All limits of all keys, as a request meets them. */
export interface Quotas {
  /** Takes a place, a cell and units, in this order, and undoes the earlier when a later one is refused. */
  reserve(request: ReserveOrder): Decision | Promise<Decision>;
  /** What the key has spent of its quotas; it costs nothing. Rejects with `StoreUnavailable`. */
  read(keyId: string, plan: PlanRule): Promise<readonly UsageReading[]>;
  /** Gives back all that this process holds ahead. To be called when no more requests come. */
  drain(): Promise<void>;
  readonly counts: LeaseCounts;
}

export type Decision = Grant | QuotaRefusal;

export interface QuotasOptions {
  readonly ledger: Ledger;
  readonly clock: Clock;
  /** The name of this process, different from every other that runs at the time. */
  readonly holder: string;
  /** The deadline that the store keeps for each call. */
  readonly deadlineMs: number;
  /** The most units an upstream's word can make one request cost. */
  readonly costMax: number;
  /** Told of errors that are no outage: a fault in the program. */
  readonly onError: (error: unknown) => void;
}

/** Creates the limits of a process. */
export function createQuotas(options: QuotasOptions): Quotas {
  return new LimitBook(options);
}

/** What one request has got so far. */
interface Draft {
  readonly request: ReserveOrder;
  place: Place | undefined;
  rate: RateReading | undefined;
  unasked: boolean;
}

type Next<T> = (draft: Draft, value: T) => Decision | Promise<Decision>;

class LimitBook implements Quotas {
  readonly #office: GrantOffice;
  readonly #rates: Rates;
  readonly #concurrency: Concurrency;

  constructor(options: QuotasOptions) {
    const { clock, costMax } = options;
    this.#office = { leases: createLeases(options), warnings: createWarnings(), clock, costMax };
    this.#rates = createRates(options);
    this.#concurrency = createConcurrency(options);
  }

  get counts(): LeaseCounts {
    return this.#office.leases.counts;
  }

  read(keyId: string, plan: PlanRule): Promise<readonly UsageReading[]> {
    return this.#office.leases.read(keyId, plan);
  }

  async drain(): Promise<void> {
    await this.#office.leases.drain();
  }

  reserve(request: ReserveOrder): Decision | Promise<Decision> {
    const { keyId, plan } = request;
    const draft: Draft = { request, place: undefined, rate: undefined, unasked: false };
    if (plan.concurrency === undefined) return this.#askRate(draft);
    const place = this.#concurrency.enter(keyId, plan.concurrency, plan.onStoreFailure);
    return place instanceof Promise ? this.#wait(draft, place, this.#placed) : this.#placed(draft, place);
  }

  readonly #placed: Next<Place | Full> = (draft, place) => {
    if (place.kind === 'full') return refuseFull(place.reading);
    draft.place = place;
    draft.unasked = place.unasked;
    return this.#askRate(draft);
  };

  #askRate(draft: Draft): Decision | Promise<Decision> {
    const { keyId, plan } = draft.request;
    if (plan.rate === undefined) return this.#askQuotas(draft);
    const cell = this.#rates.take(keyId, plan.rate);
    if (!(cell instanceof Promise)) return this.#paced(draft, cell);
    const asked = plan.onStoreFailure === 'allow' ? cell.catch(passOutage) : cell;
    return this.#wait(draft, asked, this.#paced);
  }

  readonly #paced: Next<Cell | TooFast | undefined> = (draft, cell) => {
    if (cell?.kind === 'too_fast') {
      draft.place?.leave();
      return refuseTooFast(cell, draft.place?.reading);
    }
    draft.rate = cell?.reading;
    draft.unasked ||= cell === undefined;
    return this.#askQuotas(draft);
  };

  #askQuotas(draft: Draft): Decision | Promise<Decision> {
    const { plan, cost } = draft.request;
    if (plan.quotas.length === 0 || cost === 0) return this.#grant(draft, undefined);
    const hold = this.#takeUnits(draft);
    return hold instanceof Promise ? this.#wait(draft, hold, this.#drawn) : this.#drawn(draft, hold);
  }

  /** What is thrown at once fails as what is thrown later: a quota may not be understood here. */
  #takeUnits(draft: Draft): Hold | Denial | Promise<Hold | Denial> {
    try {
      return this.#office.leases.reserve(draft.request);
    } catch (error) {
      return Promise.reject<Hold>(error);
    }
  }

  readonly #drawn: Next<Hold | Denial> = (draft, hold) => {
    if (hold.kind === 'hold') return this.#grant(draft, hold);
    this.#undo(draft);
    return this.#refuseExhausted(draft, hold);
  };

  #grant({ request, place, rate, unasked }: Draft, hold: Hold | undefined): Grant {
    return createGrant(this.#office, { charge: request.plan.charge, hold, place, rate, unasked });
  }

  async #wait<T>(draft: Draft, asked: Promise<T>, next: Next<T>): Promise<Decision> {
    let answer: T;
    try {
      answer = await asked;
    } catch (error) {
      this.#undo(draft);
      if (error instanceof StoreUnavailable) return refuseUnavailable(error);
      throw error;
    }
    return next(draft, answer);
  }

  #undo({ request, place, rate }: Draft): void {
    place?.leave();
    if (rate !== undefined && request.plan.rate !== undefined) {
      this.#rates.putBack(request.keyId, request.plan.rate);
    }
  }

  #refuseExhausted(draft: Draft, { lease, until }: Denial): QuotaRefusal {
    const { leases, warnings, clock } = this.#office;
    const mono = clock.mono();
    const quotas = readQuotas(lease, leases.time, mono);
    const inVain = until === Number.MAX_SAFE_INTEGER;
    const wait = inVain ? undefined : Math.max(1, secondsUntil(until, leases.time.earliest(mono)));
    const readings = { quotas, rate: draft.rate, concurrency: draft.place?.reading };
    const refusal = refuse('quota_exhausted', wait, writeLimitHeaders(readings));
    return { ...refusal, newWarnings: warnings.findNew(lease, quotas) };
  }
}

/** A plan that allows requests during an outage has no rate while it lasts. */
function passOutage(error: unknown): undefined {
  if (!(error instanceof StoreUnavailable)) throw error;
}

function refuseFull(concurrency: ConcurrencyReading): QuotaRefusal {
  return refuse('too_many_in_flight', 1, writeLimitHeaders({ quotas: [], rate: undefined, concurrency }));
}

function refuseTooFast(tooFast: TooFast, concurrency: ConcurrencyReading | undefined): QuotaRefusal {
  const wait = Math.max(1, Math.ceil(tooFast.retryInMs / 1000));
  return refuse('rate_exceeded', wait, writeLimitHeaders({ quotas: [], rate: tooFast.reading, concurrency }));
}

function refuseUnavailable(cause: StoreUnavailable): QuotaRefusal {
  return { ...refuse('quota_unavailable', 1, {}), cause };
}

function refuse(
  code: QuotaRefusal['code'],
  retryAfterSeconds: number | undefined,
  headers: Record<string, string>,
): QuotaRefusal {
  if (retryAfterSeconds !== undefined) headers['Retry-After'] = String(retryAfterSeconds);
  return { kind: 'refusal', code, headers, newWarnings: [], cause: undefined };
}
