import { isObject } from '../content/is-object.ts';
import type { CellsAnswer, DrawAnswer, PlaceAnswer } from '../stores/ledger.ts';
import type { Store } from '../stores/store.ts';
import { wrapStore, type Wrap } from '../stores/wrap-store.ts';
import type { Logger } from './log.ts';
import type { Metrics } from './metrics.ts';
import { Outages, type StorePart } from './outages.ts';

/**
 * The same store, with every call counted and timed, and a line in the log when it goes away, for each reason, and when it is back.
 * Without a logger nothing is logged: for those who ask too seldom to notice that it is back.
 */
export function watchStore(store: Store, metrics: Metrics, logger?: Logger): Store {
  const outages = logger && new Outages(logger);

  const watch: Wrap = (operation, call) => {
    const part = partOf(operation);
    metrics.expectOperation(operation);
    function measure(startedAt: number, ok: boolean): void {
      metrics.observeStore(operation, (performance.now() - startedAt) / 1000, ok);
    }
    return function watched(...args) {
      const startedAt = performance.now();
      return call(...args).then(
        (answer) => {
          measure(startedAt, true);
          outages?.noteAnswer(isDenial(answer) ? 'all' : part);
          return answer;
        },
        (error: unknown) => {
          measure(startedAt, false);
          outages?.noteFailure(error, part);
          throw error;
        },
      );
    };
  };

  const watched = wrapStore(store, watch);
  /** Why the changes of keys could not be read, the last time. */
  let unread: { readonly why: unknown } | undefined;

  async function readChanges(read: () => Promise<void>): Promise<void> {
    try {
      await read();
      unread = undefined;
    } catch (why) {
      unread = { why };
      throw why;
    }
  }

  return {
    ...watched,
    keys: { ...watched.keys, watch: (onEvent) => watched.keys.watch(onEvent, readChanges) },
    async probe() {
      await watched.probe();
      // A gateway that hears of no change lets in keys that were revoked.
      if (unread !== undefined) throw unread.why;
    },
  };
}

function partOf(operation: string): StorePart {
  if (operation === 'read_changes') return 'changes';
  return needNoRoom.has(operation) ? 'all' : 'writes';
}

/** A denial writes nothing, so it does not show that the store has room again. */
function isDenial(answer: unknown): boolean {
  return denials.has(isObject(answer) ? answer['kind'] : answer);
}

const denials: ReadonlySet<unknown> = new Set<DrawAnswer['kind'] | CellsAnswer['kind'] | PlaceAnswer>([
  'exhausted',
  'not_current',
  'too_fast',
  'full',
]);

/** Operations that write nothing, or only remove something: a store that has no room left still does them. */
const needNoRoom = new Set([
  'leave',
  'find_key',
  'read_key',
  'list_keys',
  'list_audit',
  'read_time',
  'read_usage',
  'ping',
]);
