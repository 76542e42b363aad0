import { randomBytes } from 'node:crypto';
import { slicesOf } from '../slices.ts';
import { StoreUnavailable } from '../stores/ledger.ts';
import type { Ledger, PlaceAnswer, PlaceOrder } from '../stores/ledger.ts';
import type { Clock } from '../clock.ts';
import { Outbox, repeatableForEver } from './outbox.ts';

export interface SharedPlacesOptions {
  readonly ledger: Ledger;
  readonly clock: Clock;
  /** Told of errors that are no outage: a fault in the program. */
  readonly onError: (error: unknown) => void;
}

/** A shared place is renewed each beat; the places of a process that crashed are free after the expiry. */
const beatMs = 5000;
const expiresInMs = 15_000;
/** Behind a thousand others a call would not be answered in time, and neither would those of requests. */
const beatsAtOnce = 100;
/** How often the store is told again of places that were left while it was away, and of how many. */
const retryMs = 250;
const untoldMax = 10_000;

/** The places in the store that requests of this process have or had. */
export class SharedPlaces {
  readonly #ledger: Ledger;
  readonly #clock: Clock;
  readonly #onError: (error: unknown) => void;
  readonly #taken = new Map<string, PlaceOrder>();
  /** Places that were left without the store's knowing. Until it knows, the key is short of them. */
  readonly #untold: Outbox;
  readonly #idPrefix = randomBytes(12).toString('base64url');
  #ids = 0;
  #beating = false;
  /** How long the last beat took, by which the next one is sooner. */
  #beatTookMs = 0;
  #retrying = false;

  constructor({ ledger, clock, onError }: SharedPlacesOptions) {
    this.#ledger = ledger;
    this.#clock = clock;
    this.#onError = onError;
    this.#untold = new Outbox({ mono: () => clock.mono(), stepsMax: untoldMax, onError });
  }

  /** Takes a place; undefined when all are taken. Rejects with `StoreUnavailable`, and leaves what may have been taken. */
  async enter(keyId: string, limit: number): Promise<PlaceOrder | undefined> {
    this.#ids += 1;
    const placeId = `${this.#idPrefix}${this.#ids.toString(36)}`;
    const order = { keyId, placeId, limit, expiresInMs };
    let answer: PlaceAnswer;
    try {
      answer = await this.#ledger.enter(order);
    } catch (error) {
      if (error instanceof StoreUnavailable && error.mayHaveHappened) this.leave(order);
      throw error;
    }
    if (answer.kind === 'full') {
      // Perhaps only because of places that were left.
      this.#untold.storeAnswered();
      return undefined;
    }
    this.#taken.set(placeId, order);
    this.#armBeat();
    return order;
  }

  leave(order: PlaceOrder): void {
    this.#taken.delete(order.placeId);
    this.#ledger.leave(order.keyId, order.placeId).catch((error: unknown) => {
      if (error instanceof StoreUnavailable) this.#leaveLater(order);
      else this.#onError(error);
    });
  }

  #leaveLater({ keyId, placeId }: PlaceOrder): void {
    const freeAt = this.#clock.mono() + expiresInMs;
    this.#untold.storeFailed();
    this.#untold.post({
      expendable: true,
      repeatableForMs: repeatableForEver,
      run: async () => {
        // From then on it is free by itself.
        if (this.#clock.mono() < freeAt) await this.#ledger.leave(keyId, placeId);
      },
    });
    this.#armRetry();
  }

  #armRetry(): void {
    if (this.#retrying) return;
    this.#retrying = true;
    this.#clock.after(retryMs, () => {
      this.#retrying = false;
      this.#untold.retry();
      if (this.#untold.size > 0) this.#armRetry();
    });
  }

  #armBeat(): void {
    if (this.#beating || this.#taken.size === 0) return;
    this.#beating = true;
    this.#clock.after(Math.max(beatMs - this.#beatTookMs, 0), () => void this.#beat());
  }

  async #beat(): Promise<void> {
    const startedAt = this.#clock.mono();
    const orders = [...this.#taken.values()];
    for (const some of slicesOf(orders, beatsAtOnce)) {
      // To stay in a place that was left meanwhile would be to take it again.
      const taken = some.filter(({ placeId }) => this.#taken.has(placeId));
      await Promise.all(taken.map((order) => this.#stay(order)));
    }
    this.#beatTookMs = this.#clock.mono() - startedAt;
    this.#beating = false;
    this.#armBeat();
  }

  /** A beat may be lost: the next comes before the place expires. */
  async #stay(order: PlaceOrder): Promise<void> {
    try {
      await this.#ledger.stay(order);
    } catch (error) {
      if (!(error instanceof StoreUnavailable)) this.#onError(error);
    }
  }
}
