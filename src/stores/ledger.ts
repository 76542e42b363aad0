/**
 * The ledger is where quotas are counted for all processes together. Each call is one atomic step in the store.
 *
 * Rules that both stores keep, and that one test suite checks in both:
 * - A draw takes the same number of units from every counter it names, or nothing from any.
 * - `used` never exceeds `limit` through a draw, and never falls below zero.
 * - Every step carries an id, unique for its key and holder, that ends in `.` and a number; the numbers of a holder go up.
 * - A step that is repeated with the same id answers what it answered first and changes nothing, so one whose answer was lost can be
 *   repeated or cancelled. A draw that took nothing is not remembered: repeated, it is judged again.
 * - SQLite remembers steps for ten minutes. Redis does for an hour, or until others of the same key and holder follow that say that it
 *   does not come again. What arrives there even later, as from a stalled connection, is not taken.
 * - Counters are named by key id and quota name. A limit is an argument, never stored: editing it keeps the usage.
 * - The store's clock decides which period is current. A step for a period that is not is answered `not_current`.
 * - A call answers within the store's deadline or rejects with `StoreUnavailable`.
 */
export interface Ledger {
  draw(order: DrawOrder): Promise<DrawAnswer>;
  /** Gives units back to the very periods they came from; a period that ended long ago takes nothing. */
  giveBack(order: UnitsOrder): Promise<void>;
  /** Counts units whatever the limits say: they were spent already, during an outage or above the price that was drawn. */
  charge(order: UnitsOrder): Promise<void>;
  /**
   * Undoes a draw whose answer was lost. If it ran, its units go back; if it did not, it never will: the id is burnt,
   * and a draw with it rejects with `StoreUnavailable`. Cancelling twice is cancelling once.
   */
  cancelDraw(draw: StepOrder): Promise<void>;
  /** Takes up to `want` cells of a rate, at least one. */
  takeCells(order: CellsOrder): Promise<CellsAnswer>;
  /** Takes a place among the requests of a key that are in flight anywhere, until left or `expiresInMs` has passed. */
  enter(order: EntryOrder): Promise<PlaceAnswer>;
  /**
   * Keeps a place for another `expiresInMs`. One that was lost is taken again whatever the limit: it is in flight. For 0 none is taken,
   * and the answer shows that one could be.
   */
  stay(order: PlaceOrder): Promise<void>;
  leave(keyId: string, placeId: string): Promise<void>;
  /** Hears when a server is connected to again. It may be another one, which lacks what the last was told in the end. */
  onReturn(hear: () => void): void;
  /** The time on the clock that decides this key's periods: in a cluster each node has its own. */
  readTime(keyId: string): Promise<number>;
  /** One usage for each counter, in their order. */
  readUsage(keyId: string, counters: readonly Counter[]): Promise<readonly Usage[]>;
  /**
   * Sets what was spent of the counters, whatever the limits say, and tells their usage from then on. Units that processes have told
   * they hold stay theirs to spend, and are counted on top: so they take nothing away when they come back.
   */
  setUsage(order: UsageOrder): Promise<readonly Usage[] | 'not_current'>;
}

/** Where a period ends that never does: later than any clock can show, and a number that both stores count exactly. */
export const endOfTime = Number.MAX_SAFE_INTEGER;

/** One quota of a key in one period. */
export interface Counter {
  /** The quota's name, unique in the key. */
  readonly name: string;
  readonly limit: number;
  /** Milliseconds since the epoch; 0 for a lifetime. */
  readonly periodStart: number;
  /** First millisecond after the period; `endOfTime` for a lifetime. */
  readonly periodEnd: number;
}

/** What every step about the units of a key says. */
export interface StepOrder {
  readonly id: string;
  readonly keyId: string;
  readonly counters: readonly Counter[];
  /** The process that takes it. */
  readonly holder: string;
  /** The lowest number of its steps of this key that may still come again: of each before it knows what became of it. */
  readonly openFrom: number;
}

export interface DrawOrder extends StepOrder {
  /** The draw gives between `need` and `want` units, or none. */
  readonly need: number;
  readonly want: number;
  /**
   * What the process will hold unspent besides these units: for people who ask what is leased. Below zero when requests wait for
   * some of these units and spend them at once.
   */
  readonly held: number;
}

export type DrawAnswer =
  | { readonly kind: 'drawn'; readonly units: number; readonly used: readonly number[]; readonly now: number }
  | { readonly kind: 'exhausted'; readonly used: readonly number[]; readonly now: number }
  /** The store's clock is outside one of the periods: compute them again for `now`. */
  | { readonly kind: 'not_current'; readonly now: number };

export interface UnitsOrder extends StepOrder {
  readonly units: number;
  /** What the process holds unspent of each counter after this step, in their order. */
  readonly held: readonly number[];
}

export interface UsageOrder {
  readonly keyId: string;
  readonly counters: readonly Counter[];
  /** The same for each of them. */
  readonly spent: number;
}

/** A rate as GCRA: one cell each `intervalMs`, and `burst` cells at once after a rest. */
export interface CellsOrder {
  readonly keyId: string;
  readonly name: string;
  /** May be a fraction: 0.5 is two cells a millisecond. */
  readonly intervalMs: number;
  readonly burst: number;
  readonly want: number;
}

export type CellsAnswer =
  | { readonly kind: 'taken'; readonly cells: number; readonly remaining: number; readonly now: number }
  /** `retryInMs`: when the next cell is free, rounded up, never early. */
  | { readonly kind: 'too_fast'; readonly retryInMs: number; readonly now: number };

export interface PlaceOrder {
  readonly keyId: string;
  readonly placeId: string;
  readonly expiresInMs: number;
}

interface EntryOrder extends PlaceOrder {
  readonly limit: number;
}

export type PlaceAnswer = 'entered' | 'full';

export interface Usage {
  /** Drawn by processes, spent or not. */
  readonly used: number;
  /** The part of `used` that processes hold unspent, as far as they have told. */
  readonly leased: number;
}
