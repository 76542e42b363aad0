import { randomBytes } from 'node:crypto';
import { StoreUnavailable } from '../stores/ledger.ts';
import type { Ledger, PlaceAnswer, PlaceOrder } from '../stores/ledger.ts';
import type { ConcurrencyReading } from './answer-headers.ts';
import type { Clock } from './clock.ts';
import type { ConcurrencyRule, OnStoreFailure } from '../config/plan-rule.ts';

/** The place of one request among those of its key that are in flight. */
export interface Place {
  readonly kind: 'place';
  readonly reading: ConcurrencyReading;
  /** Frees the place; only the first call counts. */
  leave(): void;
}

/** All places of the key are taken. */
export interface Full {
  readonly kind: 'full';
  readonly reading: ConcurrencyReading;
}

/** Who is in flight. */
export interface Concurrency {
  /** Rejects with `StoreUnavailable` when a shared limit cannot be asked and `onStoreFailure` is `refuse`. */
  enter(
    keyId: string,
    rule: ConcurrencyRule,
    onStoreFailure: OnStoreFailure,
  ): Place | Full | Promise<Place | Full>;
  readonly keys: number;
}

export interface ConcurrencyOptions {
  readonly ledger: Ledger;
  readonly clock: Clock;
  readonly onError: (error: unknown) => void;
}

/** Creates the count of requests in flight of a process. */
export function createConcurrency(options: ConcurrencyOptions): Concurrency {
  return new PlaceBook(options);
}

/** A shared place is renewed each beat; the places of a process that crashed are free after the expiry. */
const beatMs = 5000;
const expiresInMs = 15_000;
const denialMs = 50;

interface Count {
  inFlight: number;
  /** Shared limits: the store has just said that others fill the places. */
  fullUntil: number;
}

class PlaceBook implements Concurrency {
  readonly #ledger: Ledger;
  readonly #clock: Clock;
  readonly #onError: (error: unknown) => void;
  readonly #counts = new Map<string, Count>();
  readonly #shared = new Map<string, PlaceOrder>();
  /** Keys whose denial is remembered; one timer forgets them all. */
  readonly #denied = new Set<string>();
  #forgetting = false;
  readonly #idPrefix = randomBytes(12).toString('base64url');
  #ids = 0;
  #beating = false;

  constructor(options: ConcurrencyOptions) {
    this.#ledger = options.ledger;
    this.#clock = options.clock;
    this.#onError = options.onError;
  }

  get keys(): number {
    return this.#counts.size;
  }

  enter(
    keyId: string,
    rule: ConcurrencyRule,
    onStoreFailure: OnStoreFailure,
  ): Place | Full | Promise<Place | Full> {
    let count = this.#counts.get(keyId);
    if (count === undefined) {
      count = { inFlight: 0, fullUntil: 0 };
      this.#counts.set(keyId, count);
    }
    const isFull = rule.shared && this.#clock.mono() < count.fullUntil;
    if (count.inFlight >= rule.limit || isFull) return { kind: 'full', reading: read(rule, rule.limit) };
    count.inFlight += 1;
    if (!rule.shared) return this.#place(keyId, count, { rule, order: undefined });
    this.#ids += 1;
    const placeId = `${this.#idPrefix}${this.#ids.toString(36)}`;
    const order = { keyId, placeId, limit: rule.limit, expiresInMs };
    return this.#enterShared(count, { rule, order }, onStoreFailure);
  }

  async #enterShared(
    count: Count,
    entry: { rule: ConcurrencyRule; order: PlaceOrder },
    onStoreFailure: OnStoreFailure,
  ): Promise<Place | Full> {
    const { rule, order } = entry;
    const { keyId, placeId } = order;
    let answer: PlaceAnswer;
    try {
      answer = await this.#ledger.enter(order);
    } catch (error) {
      if (!(error instanceof StoreUnavailable)) this.#onError(error);
      else if (error.mayHaveHappened) this.#tell(this.#ledger.leave(keyId, placeId));
      if (error instanceof StoreUnavailable && onStoreFailure === 'allow') {
        return this.#place(keyId, count, { rule, order: undefined });
      }
      this.#lower(keyId, count);
      throw error;
    }
    if (answer.kind === 'full') {
      count.fullUntil = this.#clock.mono() + denialMs;
      count.inFlight -= 1;
      this.#denied.add(keyId);
      this.#armForget();
      return { kind: 'full', reading: read(rule, rule.limit) };
    }
    this.#shared.set(placeId, order);
    this.#armBeat();
    return this.#place(keyId, count, entry);
  }

  #place(
    keyId: string,
    count: Count,
    entry: { rule: ConcurrencyRule; order: PlaceOrder | undefined },
  ): Place {
    const { rule, order } = entry;
    let left = false;
    return {
      kind: 'place',
      reading: read(rule, count.inFlight),
      leave: () => {
        if (left) return;
        left = true;
        count.fullUntil = 0;
        this.#lower(keyId, count);
        if (order === undefined) return;
        this.#shared.delete(order.placeId);
        this.#tell(this.#ledger.leave(keyId, order.placeId));
      },
    };
  }

  #lower(keyId: string, count: Count): void {
    count.inFlight -= 1;
    if (count.inFlight <= 0 && count.fullUntil === 0) this.#counts.delete(keyId);
  }

  #armForget(): void {
    if (this.#forgetting) return;
    this.#forgetting = true;
    this.#clock.after(denialMs, () => {
      this.#forgetting = false;
      for (const keyId of this.#denied) {
        const count = this.#counts.get(keyId);
        if (count !== undefined && this.#clock.mono() < count.fullUntil) continue;
        this.#denied.delete(keyId);
        if (count === undefined) continue;
        count.fullUntil = 0;
        if (count.inFlight <= 0) this.#counts.delete(keyId);
      }
      if (this.#denied.size > 0) this.#armForget();
    });
  }

  /** A step that may be lost: the place expires by itself. */
  #tell(step: Promise<void>): void {
    step.catch((error: unknown) => {
      if (!(error instanceof StoreUnavailable)) this.#onError(error);
    });
  }

  #armBeat(): void {
    if (this.#beating) return;
    this.#beating = true;
    this.#clock.after(beatMs, () => {
      this.#beating = false;
      for (const order of this.#shared.values()) this.#tell(this.#ledger.stay(order));
      if (this.#shared.size > 0) this.#armBeat();
    });
  }
}

function read({ name, limit }: ConcurrencyRule, inFlight: number): ConcurrencyReading {
  return { name, limit, remaining: Math.max(0, limit - inFlight) };
}
