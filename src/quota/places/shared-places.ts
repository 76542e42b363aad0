import { slicesOf } from '../../collections/slices.ts';
import type { PlaceAnswer, PlaceOrder } from '../../stores/ledger.ts';
import { isOutage, StoreUnavailable, unavailable } from '../../stores/store-unavailable.ts';
import { Alarm } from '../../waiting/alarm.ts';
import { FreshIds } from '../fresh-ids.ts';
import type { LedgerAccess } from '../ledger-access.ts';
import { OutageWatch } from './outage-watch.ts';
import { RecentlyLeft, type LeftPlace } from './recently-left.ts';

/**
 * A shared place is renewed each beat; the places of a crashed process are free after the expiry. That is several beats long, so
 * a store that is away for less gives no place of a request in flight to another.
 */
const beatMs = 5000;
const expiresInMs = 30_000;
/** After a thousand others a call would not be answered in time, and neither would those of requests. */
const callsAtOnce = 100;
/** How often a store that is away is asked whether it is back, and how much it could not be told meanwhile is remembered. */
const retryMs = 250;
const untoldMax = 10_000;
/**
 * After an outage this long places may have expired: one process notices it a beat late, and another's last answer is a beat old.
 */
const longOutageMs = expiresInMs - 2 * beatMs;
/** By then nearly every process is connected again, which takes at most 1.75 s, and has told the store of its places. */
const settleMs = 2000;

/** How places are asked for in the ledger. */
export type PlacesAccess = Omit<LedgerAccess, 'holder' | 'deadlineMs'>;

/**
 * The places in the store that requests of this process have or had: taken, kept with each beat, left. After an outage the store is
 * told again of all that are kept and of those left lately, for it may be a new one, and of what it could not be told.
 */
export class SharedPlaces {
  readonly #access: PlacesAccess;
  readonly #outage: OutageWatch;
  readonly #taken = new Map<string, PlaceOrder>();
  /** Tell the store of what it could not be told. A key lacks a place that was left until then, and others may get one that is kept. */
  readonly #untold: (() => Promise<boolean>)[] = [];
  /** Places that the store has yet to be told are kept. */
  readonly #keptUntold = new Set<string>();
  readonly #recent: RecentlyLeft;
  readonly #retry: Alarm;
  #retrying = false;
  readonly #ids = new FreshIds();
  /** The key that the store has answered last; with it the store is asked whether it is there. */
  #someKey = '';
  #beating = false;
  /** How long the last beat took; the next one comes that much sooner. */
  #beatTookMs = 0;

  constructor(access: PlacesAccess) {
    const { clock, ledger } = access;
    this.#access = access;
    this.#recent = new RecentlyLeft(clock);
    this.#outage = new OutageWatch({
      clock,
      longMs: longOutageMs,
      settleMs,
      onEnd: (awaySince) => this.#mayLack(awaySince),
    });
    this.#retry = new Alarm({ clock, afterMs: retryMs, ring: () => void this.#retryUntold() });
    // Before its first answer: an outage is not over yet.
    ledger.onReturn(() => this.#mayLack(this.#outage.awaySince ?? clock.mono()));
  }

  /**
   * Takes a place; undefined when all are taken. Rejects with `StoreUnavailable`, and leaves what may have been taken. After an
   * outage in which places expired it rejects until other processes have had time to tell of theirs.
   */
  async enter(keyId: string, limit: number): Promise<PlaceOrder | undefined> {
    if (!this.#outage.isSettled) throw notSettled();
    this.#armBeat();
    const order = { keyId, placeId: this.#ids.next(), limit, expiresInMs };
    let answer: PlaceAnswer;
    try {
      answer = await this.#outage.noteFailure(this.#access.ledger.enter(order));
    } catch (error) {
      if (error instanceof StoreUnavailable && error.mayHaveHappened) this.leave(order);
      throw error;
    }
    this.#someKey = keyId;
    if (answer === 'full') {
      // Perhaps only by places that were left. A store that has no room says it too: it needs none for that.
      if (this.#isBehind) void this.#retryUntold();
      return undefined;
    }
    this.#outage.end();
    this.#taken.set(order.placeId, order);
    if (this.#outage.isSettled) return order;
    this.leave(order);
    throw notSettled();
  }

  leave({ keyId, placeId }: PlaceOrder): void {
    this.#taken.delete(placeId);
    void this.#tellLeft(this.#recent.note(keyId, placeId));
  }

  /** Whether the store is away, or has yet to be told something. */
  get #isBehind(): boolean {
    return this.#outage.awaySince !== undefined || this.#untold.length > 0 || this.#recent.isUntold;
  }

  /** The store may lack what it was told since then, and shortly before. */
  #mayLack(since: number): void {
    this.#recent.mayBeUnknown(since);
    this.#retry.set();
  }

  async #retryUntold(): Promise<void> {
    if (this.#retrying) return;
    this.#retrying = true;
    if (this.#outage.awaySince !== undefined) await this.#probe();
    await this.#tellUntold();
    this.#retrying = false;
    if (this.#isBehind) this.#retry.set();
  }

  /** One call first, then many, until one fails: a part of the store may be away alone, such as one node of a cluster. */
  async #tellUntold(): Promise<void> {
    if (this.#outage.awaySince !== undefined) return;
    const recent = this.#recent.takeUntold();
    if (recent !== undefined) void this.#tellAllKept();
    for (const place of recent ?? []) this.#tellLater(() => this.#tellLeft(place));
    for (let atOnce = 1; this.#untold.length > 0; atOnce = callsAtOnce) {
      const some = this.#untold.splice(0, atOnce);
      const told = await Promise.all(some.map((tell) => tell()));
      if (told.includes(false)) return;
    }
  }

  /** False when too much waits already. */
  #tellLater(tell: () => Promise<boolean>): boolean {
    const hasRoom = this.#untold.length < untoldMax;
    if (hasRoom) this.#untold.push(tell);
    return hasRoom;
  }

  #armBeat(): void {
    if (this.#beating) return;
    this.#beating = true;
    this.#access.clock.after(Math.max(beatMs - this.#beatTookMs, 0), () => void this.#beat());
  }

  /** A process that is idle in an outage must know of it too, before others have told of their places. */
  async #beat(): Promise<void> {
    const startedAt = this.#access.clock.mono();
    if (this.#taken.size > 0) await this.#tellAllKept();
    else await this.#probe();
    this.#beatTookMs = this.#access.clock.mono() - startedAt;
    this.#beating = false;
    this.#armBeat();
  }

  async #tellAllKept(): Promise<void> {
    for (const some of slicesOf([...this.#taken.values()], callsAtOnce)) {
      const fresh = some.filter(({ placeId }) => !this.#keptUntold.has(placeId));
      await Promise.all(fresh.map((order) => this.#tellKept(order)));
    }
  }

  /**
   * Takes a place for no time: a store that can be read may still take no writes, and one out of memory takes only those that remove
   * something.
   */
  async #probe(): Promise<void> {
    const order = { keyId: this.#someKey, placeId: this.#ids.unused, expiresInMs: 0 };
    await this.#isOver(this.#outage.note(this.#access.ledger.stay(order)));
  }

  /**
   * Staying in a place that has been left would take it again. The call may even reach the store after the one that left the place:
   * a store that has lost its scripts, or a node that has given the place's slot away, makes the caller ask again.
   */
  async #tellKept(order: PlaceOrder): Promise<boolean> {
    const { placeId } = order;
    this.#keptUntold.delete(placeId);
    if (!this.#taken.has(placeId)) return true;
    const isOver = await this.#isOver(this.#outage.note(this.#access.ledger.stay(order)));
    if (!this.#taken.has(placeId)) this.leave(order);
    else if (!isOver) this.#tellKeptLater(order);
    return isOver;
  }

  /** If there is no room for it, the next beat tries again. */
  #tellKeptLater(order: PlaceOrder): void {
    if (this.#keptUntold.has(order.placeId)) return;
    if (this.#tellLater(() => this.#tellKept(order))) this.#keptUntold.add(order.placeId);
  }

  /** Leaving a place does not end an outage: a store out of memory allows it, and keeps none. */
  async #tellLeft(place: LeftPlace): Promise<boolean> {
    const asked = this.#access.ledger.leave(place.keyId, place.placeId);
    const isOver = await this.#isOver(this.#outage.noteFailure(asked));
    if (!isOver) this.#tellLater(() => this.#tellLeft(place));
    return isOver;
  }

  /**
   * Whether the call is over and done with. False only when the store was away: then it has to be made again. What cannot be read
   * in the store stays so, and is not told again.
   */
  async #isOver(asked: Promise<unknown>): Promise<boolean> {
    try {
      await asked;
    } catch (error) {
      if (isOutage(error)) {
        this.#retry.set();
        return false;
      }
      if (!(error instanceof StoreUnavailable)) this.#access.onError(error);
    }
    return true;
  }
}

function notSettled(): StoreUnavailable {
  return unavailable('after its outage it is not yet known which shared places are taken');
}
