import { StoreUnavailable, Unreadable } from '../stores/ledger.ts';

/** A step that the store has to take sooner or later. Taken again within `repeatableForMs` it does no harm. */
export interface Step {
  run(): Promise<void>;
  /**
   * When it may be dropped: units that never come back are lost, but units that are never charged are overspent. What moves no units
   * goes before both.
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
  triedAt: number | undefined;
}

interface OutboxOptions {
  readonly mono: () => number;
  readonly stepsMax: number;
  /** Told of errors that are no outage: a fault in the program. */
  readonly onError: (error: unknown) => void;
}

const inFlightMax = 64;

/**
 * Takes steps to the store: new ones in order, and only so many at once. What the store does not take is kept, up to a bound, and
 * tried again; while the store is away one step at a time asks whether it is back. A part of the store may be away alone, such as
 * one node of a cluster: the steps for other parts do not wait for it.
 */
export class Outbox {
  readonly #options: OutboxOptions;
  readonly #queue: Posted[] = [];
  /** How many of these are dropped before all others. Where there is none, a full queue need not be searched for one. */
  #firsts = 0;
  /** What the store did not take waits here until all is tried again. */
  readonly #failed: Posted[] = [];
  readonly #running = new Map<Promise<void>, Posted>();
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
    return this.#queue.length + this.#failed.length + this.#running.size;
  }

  /** How many of them move units. The rest is missed by nobody, so it is nothing to tell people of. */
  get sizeWithUnits(): number {
    const all = [...this.#queue, ...this.#failed, ...this.#running.values()];
    return all.filter(({ step }) => step.expendable !== 'first').length;
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

  /** False when the outbox is full and the step was not taken. */
  post(step: Step): boolean {
    if (!this.hasRoom && !this.#dropOneFor(step)) {
      this.#countDropped(step);
      return false;
    }
    this.#enqueue({ step, triedAt: undefined });
    if (!this.#wary) this.#pump();
    return true;
  }

  /** The store has answered somebody: what waits goes now, beginning with one step after a failure. */
  storeAnswered(): void {
    this.#down = false;
    if (this.size === 0) this.#wary = false;
    if (this.#wary && this.#running.size < inFlightMax) this.#startNext();
  }

  storeFailed(): void {
    this.#down = true;
    this.#wary = true;
  }

  /** Tries one step, or all of them when the store is known to be there. */
  retry(): void {
    this.#queueFailed();
    if (!this.#wary) this.#pump();
    else if (this.#running.size === 0) this.#startNext();
  }

  /** Tries until nothing is left or the store does not answer. */
  async flush(): Promise<void> {
    this.#queueFailed();
    this.#pump();
    while (this.#running.size > 0) await Promise.all(this.#running.keys());
  }

  #endOutage(): void {
    this.#down = false;
    this.#wary = false;
  }

  /** One by one: there may be more of them than a call can have arguments. */
  #queueFailed(): void {
    for (const posted of this.#failed.splice(0)) this.#enqueue(posted);
  }

  #pump(): void {
    while (this.#running.size < inFlightMax && this.#queue.length > 0) this.#startNext();
  }

  #startNext(): void {
    const next = this.#dequeue(0);
    if (next === undefined) return;
    const running = this.#run(next).finally(() => {
      this.#running.delete(running);
      if (!this.#wary) this.#pump();
    });
    this.#running.set(running, next);
  }

  async #run(posted: Posted): Promise<void> {
    const now = this.#options.mono();
    if (now - (posted.triedAt ?? now) > posted.step.repeatableForMs) {
      this.#countDropped(posted.step);
      return;
    }
    try {
      await posted.step.run();
      this.#endOutage();
    } catch (error) {
      if (!(error instanceof StoreUnavailable)) return this.#options.onError(error);
      // A counter that is spoilt concerns no other step: the store is there.
      if (error instanceof Unreadable) this.#endOutage();
      else this.storeFailed();
      if (error.mayHaveHappened) posted.triedAt ??= now;
      this.#failed.push(posted);
    }
  }

  #dropOneFor({ expendable }: Step): boolean {
    if (expendable === 'first') return false;
    this.#queueFailed();
    const before = this.#firsts > 0 ? 'first' : 'next';
    const index = this.#queue.findIndex(({ step }) => step.expendable === before);
    const posted = index < 0 ? undefined : this.#dequeue(index);
    if (posted === undefined) return false;
    this.#countDropped(posted.step);
    return true;
  }

  /** What moves no units is missed by nobody. */
  #countDropped({ expendable }: Step): void {
    if (expendable !== 'first') this.dropped += 1;
  }

  #enqueue(posted: Posted): void {
    this.#queue.push(posted);
    if (posted.step.expendable === 'first') this.#firsts += 1;
  }

  #dequeue(index: number): Posted | undefined {
    const posted = index === 0 ? this.#queue.shift() : this.#queue.splice(index, 1)[0];
    if (posted?.step.expendable === 'first') this.#firsts -= 1;
    return posted;
  }
}
