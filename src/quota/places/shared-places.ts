import { slicesOf } from '../../collections/slices.ts';
import {
  isOutage,
  StoreUnavailable,
  unavailable,
  type Ledger,
  type PlaceAnswer,
  type PlaceOrder,
} from '../../stores/ledger.ts';
import { Alarm } from '../../waiting/alarm.ts';
import type { Clock } from '../../waiting/clock.ts';
import { FreshIds } from '../fresh-ids.ts';
import type { LedgerAccess } from '../ledger-access.ts';
import { Outbox, repeatableForEver, type Step } from '../outbox.ts';
import { OutageWatch } from './outage-watch.ts';
import { RecentlyLeft } from './recently-left.ts';

/**
 * A shared place is renewed each beat; the places of a crashed process are free after the expiry. That is several beats long, so
 * a store that is away for less gives no place of a request in flight to another.
 */
const beatMs = 5000;
const expiresInMs = 30_000;
/** After a thousand others a call would not be answered in time, and neither would those of requests. */
const beatsAtOnce = 100;
/** How often it is tried to tell the store of places kept or left while it was away, and how many may wait for that. */
const retryMs = 250;
const untoldMax = 10_000;
/**
 * After an outage this long places may have expired: one process notices it a beat late, and another's last answer is a beat old.
 */
const longOutageMs = expiresInMs - 2 * beatMs;
/** By then nearly every process is connected again, which takes at most 1.75 s, and has told the store of its places. */
const settleMs = 2000;

/**
 * The places in the store that requests of this process have or had: taken, kept with each beat, left. What the store cannot be
 * told at once it is told later (`#untold`); after an outage it is told again what it knew (`#repeatAll`), for it may be a new one.
 */
export class SharedPlaces {
  readonly #ledger: Ledger;
  readonly #clock: Clock;
  readonly #onError: (error: unknown) => void;
  readonly #outage: OutageWatch;
  readonly #taken = new Map<string, PlaceOrder>();
  /**
   * Places kept or left without the store's knowledge. Until it knows, the key lacks those that were left, and others may get
   * those that were kept.
   */
  readonly #untold: Outbox;
  readonly #retry: Alarm;
  /** Places that the store has yet to be told are kept. */
  readonly #keptUntold = new Set<string>();
  readonly #recent: RecentlyLeft;
  readonly #ids = new FreshIds();
  /** A key whose place was asked for; an idle process uses it to keep checking whether the store is there. */
  #someKey: string | undefined;
  #beating = false;
  /** How long the last beat took; the next one comes that much sooner. */
  #beatTookMs = 0;

  constructor({ ledger, clock, onError }: Omit<LedgerAccess, 'holder' | 'deadlineMs'>) {
    this.#ledger = ledger;
    this.#clock = clock;
    this.#onError = onError;
    this.#recent = new RecentlyLeft(clock);
    this.#outage = new OutageWatch({
      clock,
      longMs: longOutageMs,
      settleMs,
      onEnd: (awaySince) => this.#mayLack(awaySince),
    });
    this.#untold = new Outbox({ mono: () => clock.mono(), stepsMax: untoldMax, onError });
    this.#retry = new Alarm({ clock, afterMs: retryMs, ring: () => this.#retryUntold() });
    // Before its first answer: an outage is not over yet.
    ledger.onReturn(() => this.#mayLack(this.#outage.awaySince ?? clock.mono()));
  }

  /**
   * Takes a place; undefined when all are taken. Rejects with `StoreUnavailable`, and leaves what may have been taken. After an
   * outage in which places expired it rejects until other processes have had time to tell of theirs.
   */
  async enter(keyId: string, limit: number): Promise<PlaceOrder | undefined> {
    if (!this.#outage.isSettled) throw notSettled();
    this.#someKey = keyId;
    this.#armBeat();
    const order = { keyId, placeId: this.#ids.next(), limit, expiresInMs };
    let answer: PlaceAnswer;
    try {
      answer = await this.#outage.noteFailure(this.#ledger.enter(order));
    } catch (error) {
      if (error instanceof StoreUnavailable && error.mayHaveHappened) this.leave(order);
      throw error;
    }
    if (answer === 'full') {
      // A store that has no room says it too: it needs none for that.
      if (this.#outage.awaySince !== undefined) this.#probeLater(keyId);
      // Perhaps only by places that were left.
      this.#untold.storeAnswered();
      return undefined;
    }
    this.#outage.end();
    this.#taken.set(order.placeId, order);
    if (this.#outage.isSettled) return order;
    this.leave(order);
    throw notSettled();
  }

  leave(order: PlaceOrder): void {
    const { keyId, placeId } = order;
    this.#taken.delete(placeId);
    this.#keptUntold.delete(placeId);
    this.#recent.note(keyId, placeId);
    this.#tellLeft(keyId, placeId).catch((error: unknown) => {
      if (error instanceof StoreUnavailable) this.#tellLater(() => this.#tellLeft(keyId, placeId));
      else this.#onError(error);
    });
  }

  /** The store may lack what it was told since then, and shortly before. */
  #mayLack(since: number): void {
    this.#recent.mayBeUnknown(since);
    this.#retry.set();
  }

  /** Tells the store again which places were left recently, and which are taken. */
  #repeatAll(): void {
    const left = this.#recent.takeUntold();
    if (left === undefined) return;
    for (const { keyId, placeId } of left) {
      const run = (): Promise<void> => this.#tellLeft(keyId, placeId);
      this.#untold.post({ expendable: 'first', repeatableForMs: repeatableForEver, run });
    }
    void this.#tellAllKept();
  }

  /** False when too much is already waiting to be told. */
  #tellLater(run: Step['run'], expendable: Step['expendable'] = 'next'): boolean {
    this.#untold.storeFailed();
    const isPosted = this.#untold.post({ expendable, repeatableForMs: repeatableForEver, run });
    this.#retry.set();
    return isPosted;
  }

  #retryUntold(): void {
    this.#repeatAll();
    this.#untold.retry();
    if (this.#untold.size > 0 || this.#recent.isUntold) this.#retry.set();
  }

  #armBeat(): void {
    if (this.#beating) return;
    this.#beating = true;
    this.#clock.after(Math.max(beatMs - this.#beatTookMs, 0), () => void this.#beat());
  }

  async #beat(): Promise<void> {
    const startedAt = this.#clock.mono();
    if (this.#taken.size > 0) await this.#tellAllKept();
    else await this.#probeWhileIdle();
    this.#beatTookMs = this.#clock.mono() - startedAt;
    this.#beating = false;
    this.#armBeat();
  }

  async #tellAllKept(): Promise<void> {
    for (const some of slicesOf([...this.#taken.values()], beatsAtOnce)) {
      await Promise.all(some.map((order) => this.#tellKeptOrLater(order)));
    }
  }

  /** A process that was idle in an outage must know of it too, before others have told of their places. */
  async #probeWhileIdle(): Promise<void> {
    const keyId = this.#someKey;
    if (keyId !== undefined) await this.#orLater(this.#probe(keyId), () => this.#probeLater(keyId));
  }

  /** What cannot be read in the store stays so, and is not asked for later. */
  async #orLater(asked: Promise<void>, later: () => void): Promise<void> {
    try {
      await asked;
    } catch (error) {
      if (isOutage(error)) later();
      else if (!(error instanceof StoreUnavailable)) this.#onError(error);
    }
  }

  /** Asks by itself, or the outage would last until somebody else asks. */
  #probeLater(keyId: string): void {
    if (this.#untold.size === 0) this.#tellLater(() => this.#probe(keyId));
  }

  /**
   * Leaves a place of this key, and takes one of no key, that nobody has: a store that can be read may still take no writes, and one
   * out of memory takes only those that remove something.
   */
  async #probe(keyId: string): Promise<void> {
    const { unused } = this.#ids;
    const left = this.#ledger.leave(keyId, unused);
    const stayed = this.#ledger.stay({ keyId: unused, placeId: unused, expiresInMs: 1 });
    await this.#outage.note(Promise.all([left, stayed]));
  }

  async #tellKeptOrLater(order: PlaceOrder): Promise<void> {
    // Staying in a place that has been left would take it again.
    if (!this.#taken.has(order.placeId) || this.#keptUntold.has(order.placeId)) return;
    await this.#orLater(this.#tellKept(order), () => this.#tellKeptLater(order));
  }

  /** If there is no room for it, the next beat tries again. */
  #tellKeptLater(order: PlaceOrder): void {
    const { placeId } = order;
    if (!this.#taken.has(placeId)) return;
    const run = async (): Promise<void> => {
      if (!this.#keptUntold.has(placeId)) return;
      try {
        await this.#tellKept(order);
        this.#keptUntold.delete(placeId);
      } catch (error) {
        if (!(error instanceof StoreUnavailable)) this.#keptUntold.delete(placeId); // it will not be tried again
        throw error;
      }
    };
    if (this.#tellLater(run, 'never')) this.#keptUntold.add(placeId);
  }

  /**
   * The call may reach the store after the one that left the place, and so take it once more: a store that has lost its scripts, or
   * a node that has given the place's slot away, makes the caller ask again.
   */
  async #tellKept(order: PlaceOrder): Promise<void> {
    try {
      await this.#outage.note(this.#ledger.stay(order));
    } finally {
      if (!this.#taken.has(order.placeId)) this.leave(order);
    }
  }

  /** Leaving a place does not end an outage: a store out of memory allows it, and keeps none. */
  #tellLeft(keyId: string, placeId: string): Promise<void> {
    return this.#outage.noteFailure(this.#ledger.leave(keyId, placeId));
  }
}

function notSettled(): StoreUnavailable {
  return unavailable('after its outage it is not yet known which shared places are taken');
}
