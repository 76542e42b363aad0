import type { Store } from './store.ts';

/** Gives a call something before or after it. */
export type Wrap = <Args extends readonly unknown[], Answer>(
  operation: string,
  call: (...args: Args) => Promise<Answer>,
) => (...args: Args) => Promise<Answer>;

/** The same store, with every call wrapped under the name of its operation; a reading of the feed of changes is one, too. */
export function wrapStore(store: Store, wrap: Wrap): Store {
  const { keys, ledger } = store;
  return {
    keys: {
      findKey: wrap('find_key', (digest) => keys.findKey(digest)),
      readKey: wrap('read_key', (id) => keys.readKey(id)),
      listKeys: wrap('list_keys', (after, limit) => keys.listKeys(after, limit)),
      changeKey: wrap('change_key', (change) => keys.changeKey(change)),
      addKeys: wrap('add_keys', (records, note) => keys.addKeys(records, note)),
      noteUses: wrap('note_uses', (uses) => keys.noteUses(uses)),
      addAudit: wrap('add_audit', (note) => keys.addAudit(note)),
      listAudit: wrap('list_audit', (before, limit) => keys.listAudit(before, limit)),
      watch: (onEvent, attempt = (read) => read()) => keys.watch(onEvent, wrap('read_changes', attempt)),
    },
    ledger: {
      draw: wrap('draw', (order) => ledger.draw(order)),
      giveBack: wrap('give_back', (order) => ledger.giveBack(order)),
      charge: wrap('charge', (order) => ledger.charge(order)),
      cancelDraw: wrap('cancel_draw', (order) => ledger.cancelDraw(order)),
      takeCells: wrap('take_cells', (order) => ledger.takeCells(order)),
      enter: wrap('enter', (order) => ledger.enter(order)),
      stay: wrap('stay', (order) => ledger.stay(order)),
      leave: wrap('leave', (keyId, placeId) => ledger.leave(keyId, placeId)),
      onReturn: (hear) => ledger.onReturn(hear),
      readTime: wrap('read_time', (keyId) => ledger.readTime(keyId)),
      readUsage: wrap('read_usage', (keyId, counters) => ledger.readUsage(keyId, counters)),
      setUsage: wrap('set_usage', (order) => ledger.setUsage(order)),
    },
    identity: store.identity,
    ping: wrap('ping', () => store.ping()),
    probe: wrap('probe', () => store.probe()),
    close: () => store.close(),
  };
}
