import type { ConcurrencyRule, OnStoreFailure } from '../../config/plan-rule.ts';
import type { PlaceOrder } from '../../stores/ledger.ts';
import { StoreUnavailable } from '../../stores/store-unavailable.ts';
import type { Clock } from '../../waiting/clock.ts';
import type { ConcurrencyReading } from '../answer-headers.ts';
import { SharedPlaces, type PlacesAccess } from './shared-places.ts';

/** The place of one request among its key's requests in flight. */
export interface Place {
  readonly kind: 'place';
  readonly reading: ConcurrencyReading;
  /** The limit is shared but could not be asked: the place counts in this process only. */
  readonly unasked: boolean;
  /** Other processes count it too. */
  readonly isShared: boolean;
  /** Frees the place; only the first call counts. */
  readonly leave: () => void;
}

/** All places of the key are taken. */
export interface Full {
  readonly kind: 'full';
  readonly reading: ConcurrencyReading;
}

const denialMs = 50;

/** What is in flight for one key. */
interface Count {
  readonly keyId: string;
  inFlight: number;
  /** Shared limits: until then the store's word holds that others fill the places. */
  fullUntil: number;
  /** How many requests have left: what the store was asked before the latest did is out of date. */
  departures: number;
}

/** The requests in flight, by key. */
export class Concurrency {
  readonly #clock: Clock;
  readonly #shared: SharedPlaces;
  readonly #counts = new Map<string, Count>();

  constructor(access: PlacesAccess) {
    this.#clock = access.clock;
    this.#shared = new SharedPlaces(access);
  }

  /** How many keys are remembered. */
  get size(): number {
    return this.#counts.size;
  }

  /** Rejects with `StoreUnavailable` when a shared limit cannot be asked and `onStoreFailure` is `refuse`. */
  enter(
    keyId: string,
    rule: ConcurrencyRule,
    onStoreFailure: OnStoreFailure,
  ): Place | Full | Promise<Place | Full> {
    let count = this.#counts.get(keyId);
    if (count === undefined) {
      count = { keyId, inFlight: 0, fullUntil: 0, departures: 0 };
      this.#counts.set(keyId, count);
    }
    const isFull = rule.shared && this.#clock.mono() < count.fullUntil;
    if (count.inFlight >= rule.limit || isFull) return { kind: 'full', reading: read(rule, rule.limit) };
    count.inFlight += 1;
    return rule.shared ? this.#enterShared(count, rule, onStoreFailure) : this.#place(count, rule, undefined);
  }

  async #enterShared(
    count: Count,
    rule: ConcurrencyRule,
    onStoreFailure: OnStoreFailure,
  ): Promise<Place | Full> {
    const departuresBefore = count.departures;
    let order: PlaceOrder | undefined;
    try {
      order = await this.#shared.enter(count.keyId, rule.limit);
    } catch (error) {
      if (error instanceof StoreUnavailable && onStoreFailure === 'allow')
        return this.#place(count, rule, undefined);
      this.#lower(count);
      throw error;
    }
    if (order === undefined) {
      if (count.departures === departuresBefore) this.#rememberFull(count);
      this.#lower(count);
      return { kind: 'full', reading: read(rule, rule.limit) };
    }
    return this.#place(count, rule, order);
  }

  #place(count: Count, rule: ConcurrencyRule, order: PlaceOrder | undefined): Place {
    let left = false;
    return {
      kind: 'place',
      reading: read(rule, count.inFlight),
      unasked: rule.shared && order === undefined,
      isShared: order !== undefined,
      leave: () => {
        if (left) return;
        left = true;
        count.fullUntil = 0;
        count.departures += 1;
        this.#lower(count);
        if (order !== undefined) this.#shared.leave(order);
      },
    };
  }

  #rememberFull(count: Count): void {
    count.fullUntil = this.#clock.mono() + denialMs;
    this.#clock.after(denialMs, () => {
      count.fullUntil = 0;
      this.#forgetIfUnused(count);
    });
  }

  #lower(count: Count): void {
    count.inFlight -= 1;
    this.#forgetIfUnused(count);
  }

  /** A key that was forgotten and has come again has another count, which stays. */
  #forgetIfUnused(count: Count): void {
    const isUnused = count.inFlight <= 0 && count.fullUntil === 0;
    if (isUnused && this.#counts.get(count.keyId) === count) this.#counts.delete(count.keyId);
  }
}

function read({ limit }: ConcurrencyRule, inFlight: number): ConcurrencyReading {
  return { limit, remaining: Math.max(0, limit - inFlight) };
}
