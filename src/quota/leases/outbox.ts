import { StoreUnavailable, Unreadable } from '../../stores/store-unavailable.ts';

/** A step that the store has to take sooner or later. Taken again within `repeatableForMs` it does no harm. */
export interface Step {
  /** `again`: it may have been taken before, and then nothing that it says is heard. */
  run(again: boolean): Promise<void>;
  /** Called when it will not come again: it was taken, or surely was not and will be another step the next time, or is dropped. */
  end(): void;
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
 */
export class Outbox {
  readonly #options: OutboxOptions;
  /** Steps that have not been tried. They go before those that have: another part of the store may take them. */
  readonly #queue: Posted[] = [];
  /** What the store did not take. So many of the first are to be tried again; the others have been, and wait until all are. */
  readonly #failed: Posted[] = [];
  #due = 0;
  readonly #running = new Set<Promise<boolean>>();
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
    this.#queue.push({ step, inDoubtSince });
    if (!this.#wary) this.#pump();
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
    this.#due = this.#failed.length;
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
    const next = this.#queue.shift() ?? this.#takeDue();
    if (next === undefined) return false;
    const running = this.#try(next).then((wasRefused) => {
      this.#running.delete(running);
      if (!this.#wary) this.#pump();
      else if (wasRefused) this.#startAfterRefusal();
      return wasRefused;
    });
    this.#running.add(running);
    return true;
  }

  /** Those that are too old are dropped on the way. */
  #takeDue(): Posted | undefined {
    while (this.#due > 0) {
      this.#due -= 1;
      const posted = this.#failed.shift();
      if (posted === undefined || !this.#isTooOld(posted)) return posted;
      this.#drop(posted.step);
    }
    return undefined;
  }

  #isTooOld({ step, inDoubtSince }: Posted): boolean {
    return inDoubtSince !== undefined && this.#options.mono() - inDoubtSince > step.repeatableForMs;
  }

  /** A refusal takes no time, and another part of the store may take the next that is new. */
  #startAfterRefusal(): void {
    if (this.#queue.length === 0 || this.#refused >= refusedMax) return;
    this.#refused += 1;
    this.#startNext();
  }

  /** What fails waits to be tried again. True when it surely was not taken. */
  async #try(posted: Posted): Promise<boolean> {
    const { step } = posted;
    const now = this.#options.mono();
    try {
      await step.run(posted.inDoubtSince !== undefined);
      this.#endOutage();
    } catch (error) {
      if (error instanceof StoreUnavailable) {
        if (error.mayHaveHappened) posted.inDoubtSince ??= now;
        if (posted.inDoubtSince === undefined) step.end();
        this.#failed.push(posted);
        // A counter that is spoilt concerns no other step: the store is there.
        if (error instanceof Unreadable) this.#endOutage();
        else this.storeFailed();
        return !error.mayHaveHappened;
      }
      this.#options.onError(error);
    }
    this.#forget(step);
    return false;
  }

  #dropOneFor({ expendable }: Step): boolean {
    if (expendable === 'first') return false;
    return (this.#firsts > 0 && this.#dropOne('first')) || this.#dropOne('next');
  }

  /** False when none waits that is as expendable as that. */
  #dropOne(expendable: Step['expendable']): boolean {
    for (const waiting of [this.#failed, this.#queue]) {
      const index = waiting.findIndex(({ step }) => step.expendable === expendable);
      const [posted] = index < 0 ? [] : waiting.splice(index, 1);
      if (posted === undefined) continue;
      if (waiting === this.#failed && index < this.#due) this.#due -= 1;
      this.#drop(posted.step);
      return true;
    }
    return false;
  }

  /** What moves no units is missed by nobody. */
  #drop(step: Step): void {
    if (step.expendable !== 'first') this.dropped += 1;
    this.#forget(step);
  }

  #forget(step: Step): void {
    this.#size -= 1;
    if (step.expendable === 'first') this.#firsts -= 1;
    step.end();
  }
}
