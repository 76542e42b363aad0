import { resolve } from 'node:path';
import { whenAllIsRead } from '../../waiting/when-all-is-read.ts';
import { withChecks } from '../check-orders.ts';
import type { KeyRecord, KeyStore } from '../key-store.ts';
import type { Ledger } from '../ledger.ts';
import type { Store, StoreOptions } from '../store.ts';
import { watchChanges, type Feed } from '../watch-changes.ts';
import type { Calls } from './calls.ts';
import { createCheckpointer } from './checkpoint.ts';
import { openConnection } from './connection.ts';
import { gatherWrites, type Write } from './gather-writes.ts';
import { createLockLine } from './lock-line.ts';

/** Runs a call that only reads, before the deadline. */
type Read = <T>(call: (calls: Calls) => T) => Promise<T>;

/** Opens the embedded store. Throws when the file cannot be used: not a database, another program's, too new. */
export function openSqlite(path: string, options: StoreOptions = {}): Store {
  const file = resolve(path);
  const connection = openConnection(file, options, () => checkpointer.begin());
  const checkpointer = createCheckpointer(file, {
    fileInUse: () => connection.file,
    onFailure: (reason) => options.onLogStuck?.(reason),
  });
  const lockLine = createLockLine(options.deadlineMs ?? 250);

  function read<T>(call: (calls: Calls) => T): Promise<T> {
    return lockLine.bypass(() => connection.run(call));
  }

  const onWritten = (worth: number): void => checkpointer.noteCalls(worth);
  const write = gatherWrites({ connection, lockLine, onWritten });

  /** A file that was deleted or replaced proves no key unknown: it is looked up again, in the one at the path. */
  async function findKey(digest: string): Promise<KeyRecord | undefined> {
    const found = await read((calls) => calls.findKey(digest));
    if (found !== undefined || connection.checkPlace()) return found;
    return read((calls) => calls.findKey(digest));
  }

  async function ping(): Promise<void> {
    connection.checkPlace();
    await read((calls) => calls.ping());
  }

  async function probe(): Promise<void> {
    await ping();
    await write((calls) => calls.probe());
  }

  return {
    keys: { ...createKeys(read, write), findKey },
    ledger: createLedger(read, write),
    identity: connection.identity,
    ping,
    probe,
    async close() {
      // What was asked for in this turn is written first.
      await new Promise<void>(whenAllIsRead);
      connection.close();
      checkpointer.close();
    },
  };
}

/** Several times within the second in which a change of another process must be seen; each look costs some ten microseconds. */
const pollMs = 200;
/** Adding some hundred keys, or noting their use, writes as many pages as this many other calls. */
const callsPerBatch = 256;

function createKeys(read: Read, write: Write): Omit<KeyStore, 'findKey'> {
  const listeners = new Set<() => void>();
  const feed: Feed = {
    pollMs,
    read: (cursor) => read((calls) => calls.readKeyChanges(cursor)),
    listen(onNews) {
      listeners.add(onNews);
      return () => listeners.delete(onNews);
    },
  };

  /** A change that this process makes is in force here by the time whoever asked for it is answered. */
  async function tell<T>(change: Promise<T>): Promise<T> {
    const answer = await change;
    for (const onNews of listeners) onNews();
    return answer;
  }

  return {
    readKey: (id) => read((calls) => calls.readKey(id)),
    listKeys: (after, limit) => read((calls) => calls.listKeys(after, limit)),
    changeKey: (change) => tell(write((calls) => calls.changeKey(change))),
    addKeys: (records, note) => tell(write((calls) => calls.addKeys(records, note), callsPerBatch)),
    noteUses: (uses) => write((calls) => calls.noteUses(uses), callsPerBatch),
    addAudit: (note) => write((calls) => calls.addAudit(note)),
    listAudit: (before, limit) => read((calls) => calls.listAudit(before, limit)),
    watch: (onEvent, attempt) => watchChanges(feed, onEvent, attempt),
  };
}

function createLedger(read: Read, write: Write): Ledger {
  return withChecks({
    draw: (order) => write((calls) => calls.draw(order)),
    giveBack: (order) => write((calls) => calls.giveBack(order)),
    charge: (order) => write((calls) => calls.charge(order)),
    takeCells: (order) => write((calls) => calls.takeCells(order)),
    cancelDraw: (order) => write((calls) => calls.cancelDraw(order)),
    enter: (order) => write((calls) => calls.enter(order)),
    stay: (order) => write((calls) => calls.stay(order)),
    leave: (keyId, placeId) => write((calls) => calls.leave(keyId, placeId)),
    // A file forgets nothing.
    onReturn: () => undefined,
    readTime: async () => Date.now(),
    readUsage: (keyId, counters) => read((calls) => calls.readUsage(keyId, counters)),
    setUsage: (order) => write((calls) => calls.setUsage(order)),
  });
}
