import type { Logger } from './log.ts';
import type { Metrics } from './metrics.ts';
import { Outages, type StorePart } from './outages.ts';
import type { Store } from '../stores/store.ts';

/**
 * The same store, with every call counted and timed, and a line in the log when it goes away, for each reason, and when it is
 * back. Whoever asks too seldom to notice the second gives no logger.
 */
export function watchStore(store: Store, metrics: Metrics, logger?: Logger): Store {
  const { keys, ledger } = store;
  const outages = logger && new Outages(logger);

  function watch<Args extends readonly unknown[], Answer>(
    operation: string,
    call: (...args: Args) => Promise<Answer>,
  ): (...args: Args) => Promise<Answer> {
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
          outages?.noteAnswer(part);
          return answer;
        },
        (error: unknown) => {
          measure(startedAt, false);
          outages?.noteFailure(error, part);
          throw error;
        },
      );
    };
  }

  const probe = watch('probe', () => store.probe());
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
    keys: {
      findKey: watch('find_key', (digest) => keys.findKey(digest)),
      readKey: watch('read_key', (id) => keys.readKey(id)),
      listKeys: watch('list_keys', (after, limit) => keys.listKeys(after, limit)),
      changeKey: watch('change_key', (change) => keys.changeKey(change)),
      addKeys: watch('add_keys', (records, note) => keys.addKeys(records, note)),
      noteUses: watch('note_uses', (uses) => keys.noteUses(uses)),
      listAudit: watch('list_audit', (before, limit) => keys.listAudit(before, limit)),
      watch: (onEvent) => keys.watch(onEvent, watch('read_changes', readChanges)),
    },
    ledger: {
      draw: watch('draw', (order) => ledger.draw(order)),
      giveBack: watch('give_back', (order) => ledger.giveBack(order)),
      charge: watch('charge', (order) => ledger.charge(order)),
      cancelDraw: watch('cancel_draw', (order) => ledger.cancelDraw(order)),
      takeCells: watch('take_cells', (order) => ledger.takeCells(order)),
      enter: watch('enter', (order) => ledger.enter(order)),
      stay: watch('stay', (order) => ledger.stay(order)),
      leave: watch('leave', (keyId, placeId) => ledger.leave(keyId, placeId)),
      readTime: watch('read_time', (keyId) => ledger.readTime(keyId)),
      readUsage: watch('read_usage', (keyId, counters) => ledger.readUsage(keyId, counters)),
      resetUsage: watch('reset_usage', (keyId, counters) => ledger.resetUsage(keyId, counters)),
    },
    identity: store.identity,
    ping: watch('ping', () => store.ping()),
    async probe() {
      await probe();
      // A gateway that hears of no change lets in keys that were revoked.
      if (unread !== undefined) throw unread.why;
    },
    close: () => store.close(),
  };
}

function partOf(operation: string): StorePart {
  if (operation === 'read_changes') return 'changes';
  return roomless.has(operation) ? 'all' : 'writes';
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
