import type { PlanRule } from '../config/plan-rule.ts';
import { endOfTime } from '../stores/ledger.ts';
import { StoreUnavailable } from '../stores/store-unavailable.ts';
import type { LeaseCounts } from '../telemetry/metrics.ts';
import { writeLimitHeaders } from './answer-headers.ts';
import { Grant, type GrantParts, type Taken } from './grants.ts';
import type { Cell, TooFast } from './key-rate.ts';
import type { Denial, Reservation } from './leases/lease.ts';
import { Leases } from './leases/leases.ts';
import type { LedgerAccess } from './ledger-access.ts';
import { Concurrency, type Full, type Place } from './places/concurrency.ts';
import { readQuotas, secondsUntil, type QuotaReading } from './quota-reading.ts';
import { Rates } from './rates.ts';
import type { ReserveOrder } from './reserve-order.ts';
import type { UsageReading } from './usage-reading.ts';
import { Warnings } from './warnings.ts';

/** A request that the limits of its key turn away. A value, because it is an everyday answer. */
export interface QuotaRefusal {
  readonly kind: 'refusal';
  readonly code: 'quota_exhausted' | 'rate_exceeded' | 'too_many_in_flight' | 'quota_unavailable';
  /** For the answer, including `Retry-After` unless waiting does not help. It is never too early. */
  readonly headers: Readonly<Record<string, string>>;
  /** Quotas that were used up in one go, so that no answer has said that they are near their limit. */
  readonly newWarnings: readonly QuotaReading[];
  /** For the log: the outage that caused `quota_unavailable`. */
  readonly cause: unknown;
  /** For the log: which quotas are exhausted, since by the time that somebody looks they may have started again. */
  readonly detail: string | undefined;
}

export type Decision = Grant | QuotaRefusal;

/** A grant that is not whole yet. */
interface Draft extends Taken {
  readonly request: ReserveOrder;
}

/** Takes one part of what a request needs into its draft, or refuses it. */
type Take = (draft: Draft) => QuotaRefusal | undefined | Promise<QuotaRefusal | undefined>;

/** All limits of all keys, as a request meets them. */
export class Quotas {
  readonly #parts: GrantParts;
  readonly #rates: Rates;
  readonly #concurrency: Concurrency;
  readonly #takes: readonly Take[] = [
    (draft) => this.#takePlace(draft),
    (draft) => this.#takeCell(draft),
    (draft) => this.#takeUnits(draft),
  ];

  constructor(options: LedgerAccess) {
    this.#parts = { leases: new Leases(options), warnings: new Warnings() };
    this.#rates = new Rates(options);
    this.#concurrency = new Concurrency(options);
  }

  get counts(): LeaseCounts {
    return this.#parts.leases.counts;
  }

  /** What the key has spent of its quotas; asking costs nothing. Rejects with `StoreUnavailable`. */
  read(keyId: string, plan: PlanRule): Promise<readonly UsageReading[]> {
    return this.#parts.leases.read(keyId, plan);
  }

  /** Gives back all that this process holds ahead. Call it when no more requests come. */
  async drain(): Promise<void> {
    await this.#parts.leases.drain();
  }

  /** Takes a place, a cell and units, in this order, and undoes the earlier ones when a later one is refused. */
  reserve(request: ReserveOrder): Decision | Promise<Decision> {
    return this.#take(
      { request, place: undefined, cell: undefined, reservation: undefined, unasked: false },
      0,
    );
  }

  /** Goes through the parts one after another: at once, up to the first that has to wait. */
  #take(draft: Draft, from: number): Decision | Promise<Decision> {
    try {
      for (let at = from; at < this.#takes.length; at += 1) {
        const refusal = this.#takes[at]?.(draft);
        if (refusal instanceof Promise) {
          return refusal.then(
            (late) => (late === undefined ? this.#take(draft, at + 1) : this.#giveUp(draft, late)),
            (error: unknown) => this.#fail(draft, error),
          );
        }
        if (refusal !== undefined) return this.#giveUp(draft, refusal);
      }
    } catch (error) {
      return this.#fail(draft, error);
    }
    return new Grant(this.#parts, draft);
  }

  #takePlace(draft: Draft): ReturnType<Take> {
    const { keyId, plan } = draft.request;
    if (plan.concurrency === undefined) return undefined;
    const place = this.#concurrency.enter(keyId, plan.concurrency, plan.onStoreFailure);
    return place instanceof Promise ? place.then((one) => keepPlace(draft, one)) : keepPlace(draft, place);
  }

  #takeCell(draft: Draft): ReturnType<Take> {
    const { keyId, plan } = draft.request;
    if (plan.rate === undefined) return undefined;
    const cell = this.#rates.take(keyId, plan.rate);
    if (!(cell instanceof Promise)) return keepCell(draft, cell);
    const asked = cell.then((one) => keepCell(draft, one));
    return plan.onStoreFailure === 'allow' ? asked.catch((error) => passOutage(draft, error)) : asked;
  }

  #takeUnits(draft: Draft): ReturnType<Take> {
    const { plan, cost } = draft.request;
    if (plan.quotas.length === 0 || cost === 0) return undefined;
    const reservation = this.#parts.leases.reserve(draft.request);
    return reservation instanceof Promise
      ? reservation.then((one) => this.#keepUnits(draft, one))
      : this.#keepUnits(draft, reservation);
  }

  #keepUnits(draft: Draft, reservation: Reservation | Denial): QuotaRefusal | undefined {
    if (reservation.kind === 'exhausted') return this.#refuseExhausted(draft, reservation);
    draft.reservation = reservation;
    return undefined;
  }

  /** A quota that is not understood here counts as unavailable too. */
  #fail(draft: Draft, error: unknown): QuotaRefusal {
    if (error instanceof StoreUnavailable) return this.#giveUp(draft, refuseUnavailable(error));
    this.#undo(draft);
    throw error;
  }

  #giveUp(draft: Draft, refusal: QuotaRefusal): QuotaRefusal {
    this.#undo(draft);
    return refusal;
  }

  #undo({ request, place, cell }: Draft): void {
    place?.leave();
    if (cell !== undefined && request.plan.rate !== undefined) {
      this.#rates.putBack(request.keyId, request.plan.rate);
    }
  }

  #refuseExhausted(draft: Draft, { lease, until }: Denial): QuotaRefusal {
    const { leases, warnings } = this.#parts;
    const now = leases.time.earliest();
    const quotas = readQuotas(lease, now);
    const inVain = until === endOfTime;
    const forUnits = secondsUntil(until, now);
    const wait = inVain ? undefined : Math.max(1, forUnits, draft.cell?.reading.nextInSeconds ?? 0);
    const readings = { quotas, rate: draft.cell?.reading, concurrency: draft.place?.reading };
    const refusal = refuse('quota_exhausted', wait, writeLimitHeaders(readings));
    return {
      ...refusal,
      newWarnings: warnings.findNew(lease, quotas),
      detail: tellShort(quotas, draft.request.cost),
    };
  }
}

function tellShort(quotas: readonly QuotaReading[], cost: number): string | undefined {
  const short = quotas.filter(({ remaining }) => remaining < cost).map(({ name }) => name);
  return short.length === 0 ? undefined : `too little is left of ${short.join(', ')}`;
}

function keepPlace(draft: Draft, place: Place | Full): QuotaRefusal | undefined {
  if (place.kind === 'full') {
    const readings = { quotas: [], rate: undefined, concurrency: place.reading };
    return refuse('too_many_in_flight', 1, writeLimitHeaders(readings));
  }
  draft.place = place;
  draft.unasked = place.unasked;
  return undefined;
}

function keepCell(draft: Draft, cell: Cell | TooFast): QuotaRefusal | undefined {
  if (cell.kind === 'too_fast') {
    const readings = { quotas: [], rate: cell.reading, concurrency: draft.place?.reading };
    const wait = Math.max(1, Math.ceil(cell.retryInMs / 1000));
    return refuse('rate_exceeded', wait, writeLimitHeaders(readings));
  }
  draft.cell = cell;
  return undefined;
}

/** A plan that allows requests during an outage has no rate while it lasts. */
function passOutage(draft: Draft, error: unknown): undefined {
  if (!(error instanceof StoreUnavailable)) throw error;
  draft.unasked = true;
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
  return { kind: 'refusal', code, headers, newWarnings: [], cause: undefined, detail: undefined };
}
