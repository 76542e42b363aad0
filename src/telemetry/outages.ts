import { StoreUnavailable, Unreadable } from '../stores/store-unavailable.ts';
import type { Logger } from './log.ts';

/**
 * The parts of a store that fail alone: `writes` when it has no room, `changes` when our user may not read the feed of changed keys.
 * Anything else is `all`.
 */
export type StorePart = 'all' | 'writes' | 'changes';

/**
 * For so long after an outage was told no other for the same reason is, and no further reason of it: a store that comes and goes must
 * not fill the log.
 */
const quietMs = 5000;

/** Tells the log when the store goes away, for each reason, and when it is back. */
export class Outages {
  readonly #logger: Logger;
  readonly #away = new Set<StorePart>();
  #awaySince = 0;
  /** When each reason was told last, in this outage or within the quiet time before it. */
  readonly #told = new Map<string, number>();
  #toldAt = -Infinity;
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
    const begins = this.#away.size === 0;
    if (begins) {
      for (const [reason, at] of this.#told) if (now - at >= quietMs) this.#told.delete(reason);
      if (this.#told.has(error.message)) return;
      this.#awaySince = now;
    }
    this.#away.add(part);
    const wasTold = (this.#told.get(error.message) ?? -1) >= this.#awaySince;
    if (!begins && (wasTold || now - this.#toldAt < quietMs)) return;
    this.#toldAt = now;
    this.#told.set(error.message, now);
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
