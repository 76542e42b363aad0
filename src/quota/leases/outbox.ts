import { StoreUnavailable, Unreadable } from '../../stores/ledger.ts';

/** A step that the store has to take sooner or later. Taken again within `repeatableForMs` it does no harm. */
export interface Step {
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
  /** What the store did not take waits here until all is tried again. */
  readonly #failed: Posted[] = [];
  readonly #running = new Set<Promise<void>>();
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
    return this.#queue.length + this.#failed.length + this.#running.size;
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

  /** Takes the step, or drops it when the outbox is full and nothing in it is sooner dropped. */
  post(step: Step): void {
    if (step.expendable === 'first') this.#firsts += 1;
    if (!this.hasRoom && !this.#dropOneFor(step)) return this.#drop(step);
    this.#queue.push({ step, triedAt: undefined });
    if (!this.#wary) this.#pump();
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
    while (this.#running.size > 0) await Promise.all(this.#running);
  }

  #endOutage(): void {
    this.#down = false;
    this.#wary = false;
  }

  /** One by one: there may be more of them than a call can have arguments. */
  #queueFailed(): void {
    for (const posted of this.#failed.splice(0)) this.#queue.push(posted);
  }

  #pump(): void {
    while (this.#running.size < inFlightMax && this.#queue.length > 0) this.#startNext();
  }

  #startNext(): void {
    const next = this.#queue.shift();
    if (next === undefined) return;
    const running = this.#run(next).finally(() => {
      this.#running.delete(running);
      if (!this.#wary) this.#pump();
    });
    this.#running.add(running);
  }

  async #run(posted: Posted): Promise<void> {
    const { step, triedAt } = posted;
    const now = this.#options.mono();
    try {
      if (triedAt !== undefined && now - triedAt > step.repeatableForMs) return this.#drop(step);
      await step.run(triedAt !== undefined);
      this.#endOutage();
    } catch (error) {
      if (error instanceof StoreUnavailable) {
        // A counter that is spoilt concerns no other step: the store is there.
        if (error instanceof Unreadable) this.#endOutage();
        else this.storeFailed();
        if (error.mayHaveHappened) posted.triedAt ??= now;
        this.#failed.push(posted);
        return;
      }
      this.#options.onError(error);
    }
    if (step.expendable === 'first') this.#firsts -= 1;
  }

  #dropOneFor({ expendable }: Step): boolean {
    if (expendable === 'first') return false;
    this.#queueFailed();
    let index = this.#firsts > 0 ? this.#findInQueue('first') : -1;
    if (index < 0) index = this.#findInQueue('next');
    const [posted] = index < 0 ? [] : this.#queue.splice(index, 1);
    if (posted === undefined) return false;
    this.#drop(posted.step);
    return true;
  }

  #findInQueue(expendable: Step['expendable']): number {
    return this.#queue.findIndex(({ step }) => step.expendable === expendable);
  }

  /** What moves no units is missed by nobody. */
  #drop({ expendable }: Step): void {
    if (expendable === 'first') this.#firsts -= 1;
    else this.dropped += 1;
  }
}
