import { StoreUnavailable, Unreadable } from '../stores/store-unavailable.ts';
import type { Logger } from './log.ts';

/**
 * The parts of a store that fail alone: `writes` when it has no room, `changes` when our user may not read the feed of changed keys.
 * Anything else is `all`.
 */
export type StorePart = 'all' | 'writes' | 'changes';

/**
 * For so long after an outage was told no other is, and no further reason: a store that comes and goes must not fill the log.
 */
const quietMs = 5000;

/** Tells the log when the store goes away, for each reason, and when it is back. */
export class Outages {
  readonly #logger: Logger;
  readonly #away = new Set<StorePart>();
  #toldAt = -Infinity;
  /** Reasons, in this outage. */
  readonly #told = new Set<string>();
  #unreadableToldAt = -Infinity;

  constructor(logger: Logger) {
    this.#logger = logger;
  }

  /** An answer ends the outage of its own part and of the store as a whole, not that of another part. */
  noteAnswer(part: StorePart): void {
    if (this.#away.size === 0) return;
    this.#away.delete('all');
    this.#away.delete(part);
    if (this.#away.size === 0) this.#logger.info('the store answers again');
  }

  noteFailure(error: unknown, part: StorePart): void {
    if (!(error instanceof StoreUnavailable)) return;
    // The feed of changes is everybody's.
    if (error instanceof Unreadable && part !== 'changes') this.#tellUnreadable(error);
    else this.#tellAway(error, part);
  }

  #tellAway(error: StoreUnavailable, part: StorePart): void {
    const now = performance.now();
    const quiet = now - this.#toldAt < quietMs;
    if (this.#away.size === 0) {
      if (quiet) return;
      this.#told.clear();
    }
    this.#away.add(part);
    if (quiet || this.#told.has(error.message)) return;
    this.#toldAt = now;
    this.#told.add(error.message);
    this.#logger.error({ reason: error.message }, 'the store does not answer');
  }

  /** It concerns one key and is no outage. A request has its own line for it; what is done in the background has none. */
  #tellUnreadable(error: Unreadable): void {
    const now = performance.now();
    if (now - this.#unreadableToldAt < quietMs) return;
    this.#unreadableToldAt = now;
    this.#logger.error({ reason: error.message }, 'the store holds what cannot be read');
  }
}
