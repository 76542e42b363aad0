import type { Logger } from './log.ts';
import type { Metrics } from './metrics.ts';
import { StoreUnavailable } from './stores/ledger.ts';
import type { Store } from './stores/store.ts';

/**
 * An outage that follows another within this time is not told again, nor is a further reason: a store that flickers must not fill
 * the log.
 */
const quietMs = 5000;

/**
 * The same store, with every call counted and timed, and a line in the log when it goes away, for each reason, and when it is
 * back. Whoever asks too seldom to notice the second gives no logger.
 */
export function watchStore(store: Store, metrics: Metrics, logger?: Logger): Store {
  const { keys, ledger } = store;
  let away: 'no' | 'for all' | 'for writes' = 'no';
  let toldAt = Number.NEGATIVE_INFINITY;
  /** In this outage. */
  const told = new Set<string>();

  /** What a store that has no room left does all the same ends no outage of its writes. */
  function answered(writes: boolean): void {
    if (away === 'no' || (away === 'for writes' && !writes)) return;
    away = 'no';
    logger?.info('the store answers again');
  }

  function failed(error: unknown, writes: boolean): void {
    if (!(error instanceof StoreUnavailable)) return;
    const now = performance.now();
    const quiet = now - toldAt < quietMs;
    if (away === 'no' && quiet) return;
    if (away === 'no') told.clear();
    if (!quiet && !told.has(error.message)) {
      toldAt = now;
      told.add(error.message);
      logger?.error({ reason: error.message }, 'the store does not answer');
    }
    if (away !== 'for writes') away = writes ? 'for writes' : 'for all';
  }

  function watch<Args extends readonly unknown[], Answer>(
    operation: string,
    call: (...args: Args) => Promise<Answer>,
  ): (...args: Args) => Promise<Answer> {
    const writes = !roomless.has(operation);
    return async function watched(...args) {
      const startedAt = performance.now();
      let ok = false;
      try {
        const answer = await call(...args);
        ok = true;
        answered(writes);
        return answer;
      } catch (error) {
        failed(error, writes);
        throw error;
      } finally {
        metrics.observeStore(operation, (performance.now() - startedAt) / 1000, ok);
      }
    };
  }

  return {
    keys: {
      findKey: watch('find_key', (digest) => keys.findKey(digest)),
      readKey: watch('read_key', (id) => keys.readKey(id)),
      listKeys: watch('list_keys', (after, limit) => keys.listKeys(after, limit)),
      changeKey: watch('change_key', (change) => keys.changeKey(change)),
      addKeys: watch('add_keys', (records, note) => keys.addKeys(records, note)),
      noteUses: watch('note_uses', (uses) => keys.noteUses(uses)),
      listAudit: watch('list_audit', (before, limit) => keys.listAudit(before, limit)),
      watch: (onEvent) => keys.watch(onEvent),
    },
    ledger: {
      draw: watch('draw', (order) => ledger.draw(order)),
      giveBack: watch('give_back', (order) => ledger.giveBack(order)),
      charge: watch('charge', (order) => ledger.charge(order)),
      cancelDraw: watch('cancel_draw', (order) => ledger.cancelDraw(order)),
      pace: watch('pace', (order) => ledger.pace(order)),
      enter: watch('enter', (order) => ledger.enter(order)),
      stay: watch('stay', (order) => ledger.stay(order)),
      leave: watch('leave', (keyId, placeId) => ledger.leave(keyId, placeId)),
      readTime: watch('read_time', (keyId) => ledger.readTime(keyId)),
      readUsage: watch('read_usage', (keyId, counters) => ledger.readUsage(keyId, counters)),
      resetUsage: watch('reset_usage', (keyId, counters) => ledger.resetUsage(keyId, counters)),
    },
    identity: store.identity,
    ping: watch('ping', () => store.ping()),
    probe: watch('probe', () => store.probe()),
    close: () => store.close(),
  };
}

/** Operations that write nothing, or only take away, which a store does that has no room left. */
const roomless = new Set([
  'leave',
  'find_key',
  'read_key',
  'list_keys',
  'list_audit',
  'read_time',
  'read_usage',
  'ping',
]);
