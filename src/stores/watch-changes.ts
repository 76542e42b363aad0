import type { KeyEvent, Attempt } from './key-store.ts';

/** One reading answers at most this many events. A full one is followed by the next at once. */
export const eventsPerReading = 1000;

/** What a store's feed answers to one reading. */
export interface FeedAnswer {
  /** Where the next reading goes on. */
  readonly cursor: string;
  /** What happened since; undefined when that cannot be said. */
  readonly events: readonly KeyEvent[] | undefined;
}

export interface Feed {
  /** Reads what came after the cursor; without one, only where the feed stands now. */
  read(cursor: string | undefined): Promise<FeedAnswer>;
  /** Hears that there is something to read, while the channel it comes by works. Returns a function that stops it. */
  listen(onNews: () => void): () => void;
  readonly pollMs: number;
}

/**
 * Follows a feed. Listening only makes it quick: the feed is read several times a second anyway, so a lost message delays a
 * change and never hides it.
 */
export function watchChanges(
  feed: Feed,
  onEvent: (event: KeyEvent) => void,
  attempt: Attempt = (read) => read(),
): () => void {
  let cursor: string | undefined;
  let reading = false;
  let news = false;
  let stopped = false;

  async function readOn(): Promise<void> {
    const fresh = cursor === undefined;
    const answer = await feed.read(cursor).catch((error: unknown) => {
      // A store that is closed meanwhile has not failed.
      if (!stopped) throw error;
    });
    if (stopped || answer === undefined) return;
    cursor = answer.cursor;
    // What was looked up before the first reading may have changed meanwhile.
    const events = fresh ? undefined : answer.events;
    for (const event of events ?? [{ kind: 'missed' } as const]) onEvent(event);
    if (events?.length === eventsPerReading) news = true;
  }

  async function look(): Promise<void> {
    news = true;
    if (reading || stopped) return;
    reading = true;
    try {
      while (news) {
        news = false;
        await attempt(readOn);
      }
    } catch {
      // The store is away. The cursor stays, so nothing is missed: the next reading goes on from it. Until then nobody can say
      // that a key is still unknown.
      if (!stopped) onEvent({ kind: 'added' });
    } finally {
      reading = false;
    }
  }

  const stopListening = feed.listen(() => void look());
  const timer = setInterval(() => void look(), feed.pollMs).unref();
  void look();
  return () => {
    stopped = true;
    clearInterval(timer);
    stopListening();
  };
}
