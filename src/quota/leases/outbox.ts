import { StoreUnavailable, Unreadable } from '../../stores/ledger.ts';

/** A step that the store has to take sooner or later. Taken again within `repeatableForMs` it does no harm. */
export interface Step {
  readonly keyId: string;
  /** `again`: it may have been taken before, and then nothing that it says is heard. */
  run(again: boolean): Promise<void>;
  /**
   * When it may be dropped: first what moves no units; next what gives units back, which are then lost; never what charges units,
   * which would be overspent.
   */
  readonly expendable: 'first' | 'next' | 'never';
  /** For how long it may be tried again once it may have been taken. After that the store may have forgotten its id. */
  readonly repeatableForMs: number;
}

/** For steps that may be taken twice: nothing is overspent by them. */
export const repeatableForEver = Infinity;

interface Posted {
  readonly step: Step;
  /** When it was first tried and may have been taken; undefined = never. */
  inDoubtSince: number | undefined;
}

/** Steps of a key of which the store did not take one. */
interface HeldUp {
  /** Those that may have been taken, as they were sent. */
  readonly inDoubt: Posted[];
  /** Those that go once all of these are certain. */
  readonly waiting: Posted[];
  /** What becomes of the one that is being tried, taken out of them. */
  visit: Promise<StoreUnavailable | undefined> | undefined;
}

interface OutboxOptions {
  readonly mono: () => number;
  readonly stepsMax: number;
  /** Told of errors that are no outage: a fault in the program. */
  readonly onError: (error: unknown) => void;
}

const inFlightMax = 64;
/** The event loop gets no turn between steps that are refused at once. */
const refusedMax = 64;

/**
 * Takes steps to the store: new ones in order, and only so many at once. What the store does not take is kept, up to a bound, and
 * tried again; while the store is away one step at a time asks whether it is back. A part of the store may be away alone, such as
 * one node of a cluster: the steps for other parts do not wait for it.
 *
 * The store forgets a step when many of its key follow. So none follows one that may have been taken, until that is certain.
 */
export class Outbox {
  readonly #options: OutboxOptions;
  /** Steps of keys that are not held up. They go before the others: another part of the store may take them. */
  readonly #queue: Posted[] = [];
  /** By key. Those that have waited longest since they were tried come first. */
  readonly #heldUp = new Map<string, HeldUp>();
  /** Those of them that are to be tried again. */
  #due = new Set<string>();
  /** What cannot be counted, because its counter is spoilt. It holds up nothing else. */
  #spoilt: Posted[] = [];
  readonly #running = new Set<Promise<unknown>>();
  /** How many new steps have gone because the one before was refused, since the store answered or was tried again. */
  #refused = 0;
  #size = 0;
  /** How many of all these move no units. Where there is none, a full queue need not be searched for one. */
  #firsts = 0;
  /** True from a failure until the next answer. */
  #down = false;
  /** True from a failure until a step is taken: the answer may have come from where no step fails. */
  #wary = false;
  /** Steps with units that were dropped because there were too many or they were too old. */
  dropped = 0;

  constructor(options: OutboxOptions) {
    this.#options = options;
  }

  get size(): number {
    return this.#size;
  }

  /** How many of them move units. The rest is missed by nobody, so it is nothing to tell people of. */
  get sizeWithUnits(): number {
    return this.size - this.#firsts;
  }

  get hasRoom(): boolean {
    return this.size < this.#options.stepsMax;
  }

  /** For what can as well wait elsewhere, and must not keep out what cannot. */
  get hasRoomToSpare(): boolean {
    return this.size < this.#options.stepsMax / 2;
  }

  get down(): boolean {
    return this.#down;
  }

  /**
   * Takes the step, or drops it when the outbox is full and nothing in it is sooner dropped. `inDoubtSince`: it undoes what was sent
   * then, and may have been taken.
   */
  post(step: Step, inDoubtSince?: number): void {
    const fits = this.hasRoom || this.#dropOneFor(step);
    this.#size += 1;
    if (step.expendable === 'first') this.#firsts += 1;
    if (!fits) return this.#drop(step);
    const posted = { step, inDoubtSince };
    if (inDoubtSince === undefined && !this.#heldUp.has(step.keyId)) {
      this.#queue.push(posted);
    } else {
      this.#holdUp(posted);
      this.#due.add(step.keyId);
    }
    if (!this.#wary) this.#pump();
  }

  /** Whether a step of the key may have been taken, or is being tried again. */
  isInDoubt(keyId: string): boolean {
    const line = this.#heldUp.get(keyId);
    return line !== undefined && (line.visit !== undefined || line.inDoubt.length > 0);
  }

  /** Makes certain now what became of the steps of a key. Tells of the outage that kept it from that. */
  async settle(keyId: string): Promise<StoreUnavailable | undefined> {
    const line = this.#heldUp.get(keyId);
    return line && (line.visit ?? this.#visit(keyId, line));
  }

  /** The store has answered somebody: what waits goes now, beginning with one step after a failure. */
  storeAnswered(): void {
    this.#down = false;
    this.#refused = 0;
    if (this.size === 0) this.#wary = false;
    if (this.#wary && this.#running.size < inFlightMax) this.#startNext();
  }

  storeFailed(): void {
    this.#down = true;
    this.#wary = true;
  }

  /** Tries one step, or all of them when the store is known to be there. */
  retry(): void {
    this.#makeAllDue();
    if (!this.#wary) this.#pump();
    else if (this.#running.size === 0) this.#startNext();
  }

  /** Tries until nothing is left or the store does not answer. */
  async flush(): Promise<void> {
    this.#makeAllDue();
    this.#pump();
    while (this.#running.size > 0) await Promise.all(this.#running);
  }

  #makeAllDue(): void {
    this.#refused = 0;
    this.#due = new Set(this.#heldUp.keys());
    this.#queue.push(...this.#spoilt.splice(0));
  }

  #endOutage(): void {
    this.#down = false;
    this.#wary = false;
  }

  #pump(): void {
    while (this.#running.size < inFlightMax && this.#startNext());
  }

  /** False when nothing is left to be started. */
  #startNext(): boolean {
    for (let next = this.#queue.shift(); next !== undefined; next = this.#queue.shift()) {
      if (!this.#heldUp.has(next.step.keyId)) {
        void this.#follow(this.#try(next));
        return true;
      }
      this.#holdUp(next);
    }
    for (const keyId of this.#due) {
      this.#due.delete(keyId);
      const line = this.#heldUp.get(keyId);
      if (line === undefined || line.visit !== undefined) continue;
      void this.#visit(keyId, line);
      return true;
    }
    return false;
  }

  #visit(keyId: string, line: HeldUp): Promise<StoreUnavailable | undefined> {
    line.visit = this.#follow(this.#tryLine(keyId, line));
    return line.visit;
  }

  #follow(run: Promise<StoreUnavailable | undefined>): Promise<StoreUnavailable | undefined> {
    const running = run.then((outage) => {
      this.#running.delete(running);
      if (!this.#wary) this.#pump();
      // Nobody was asked: it was too old, or there was none any more.
      else if (outage === undefined) this.#startNext();
      else if (!outage.mayHaveHappened) this.#startAfterRefusal();
      return outage;
    });
    this.#running.add(running);
    return running;
  }

  /** A refusal takes no time, and another part of the store may take the next that is new. */
  #startAfterRefusal(): void {
    if (this.#queue.length === 0 || this.#refused >= refusedMax) return;
    this.#refused += 1;
    this.#startNext();
  }

  /** What is in doubt goes one after another; once all of it is certain, the rest goes with the steps of other keys. */
  async #tryLine(keyId: string, line: HeldUp): Promise<StoreUnavailable | undefined> {
    let outage: StoreUnavailable | undefined;
    do {
      const next = line.inDoubt.shift() ?? line.waiting.shift();
      outage = next && (await this.#try(next));
    } while (outage === undefined && line.inDoubt.length > 0);
    line.visit = undefined;
    this.#heldUp.delete(keyId);
    if (outage === undefined) this.#queue.push(...line.waiting);
    else this.#heldUp.set(keyId, line);
    return outage;
  }

  /** Tells of the outage, if it met one: then it waits to be tried again. */
  async #try(posted: Posted): Promise<StoreUnavailable | undefined> {
    const { step, inDoubtSince } = posted;
    const now = this.#options.mono();
    if (inDoubtSince !== undefined && now - inDoubtSince > step.repeatableForMs) {
      this.#drop(step);
      return undefined;
    }
    try {
      await step.run(inDoubtSince !== undefined);
      this.#endOutage();
    } catch (error) {
      if (error instanceof Unreadable) {
        // A counter that is spoilt concerns no other step: the store is there.
        this.#endOutage();
        this.#spoilt.push(posted);
        return undefined;
      }
      if (error instanceof StoreUnavailable) {
        this.storeFailed();
        if (error.mayHaveHappened) posted.inDoubtSince ??= now;
        this.#holdUp(posted, inDoubtSince !== undefined);
        return error;
      }
      this.#options.onError(error);
    }
    this.#forget(step);
    return undefined;
  }

  /** Of those sent at one time the first goes first again. */
  #holdUp(posted: Posted, isFirst = false): void {
    const { inDoubt, waiting } = this.#heldUp.getOrInsertComputed(posted.step.keyId, () => ({
      inDoubt: [],
      waiting: [],
      visit: undefined,
    }));
    const since = posted.inDoubtSince;
    if (since === undefined) {
      waiting.push(posted);
      return;
    }
    const later = inDoubt.findIndex(({ inDoubtSince = 0 }) =>
      isFirst ? inDoubtSince >= since : inDoubtSince > since,
    );
    inDoubt.splice(later < 0 ? inDoubt.length : later, 0, posted);
  }

  #dropOneFor({ expendable }: Step): boolean {
    if (expendable === 'first') return false;
    return (this.#firsts > 0 && this.#dropOne('first')) || this.#dropOne('next');
  }

  /** False when none waits that is as expendable as that. */
  #dropOne(expendable: Step['expendable']): boolean {
    const isSuch = ({ step }: Posted): boolean => step.expendable === expendable;
    for (const { inDoubt, waiting } of this.#heldUp.values()) {
      if (this.#dropFirst(inDoubt, isSuch) || this.#dropFirst(waiting, isSuch)) return true;
    }
    return this.#dropFirst(this.#spoilt, isSuch) || this.#dropFirst(this.#queue, isSuch);
  }

  #dropFirst(waiting: Posted[], isSuch: (posted: Posted) => boolean): boolean {
    const index = waiting.findIndex(isSuch);
    const [posted] = index < 0 ? [] : waiting.splice(index, 1);
    if (posted === undefined) return false;
    this.#drop(posted.step);
    return true;
  }

  /** What moves no units is missed by nobody. */
  #drop(step: Step): void {
    if (step.expendable !== 'first') this.dropped += 1;
    this.#forget(step);
  }

  #forget({ expendable }: Step): void {
    this.#size -= 1;
    if (expendable === 'first') this.#firsts -= 1;
  }
}
