import type { DatabaseSync } from 'node:sqlite';
import type { StepOrder } from '../ledger.ts';
import { leaseToldMs } from '../retention.ts';

/** How long a step is remembered: far longer than any process repeats or cancels it. */
const stepKeptMs = 600_000;
/** Old rows are deleted a few at a time, once in this many steps, so that no step takes long. */
const stepsPerPruning = 16;
/** So many counters are looked at for each that a step may have made: at most a third more are kept than need be. */
const looksPerCounter = 4;
/** SQLite sorts every text before every blob. */
const afterAllKeys = Uint8Array.of(0);

/** Prepares to delete what is no longer needed of the units ledger. It has to be told of each step, after the step is taken. */
export function prepareUnitsPruning(database: DatabaseSync) {
  const sql = prepareStatements(database);
  let steps = 0;
  let counters = 0;
  /** The counters of the keys up to this one have been looked at. */
  let lookedUpTo = '';

  /**
   * Goes through the counters in the order of their keys, some at a time. An index of their ends would find the old ones at once,
   * and have a page of its own written for each new one: with a million keys a quarter of what a look-up and a draw cost.
   */
  function pruneCounters(now: number): void {
    const last = sql.findKeyAfter.get(lookedUpTo, looksPerCounter * counters)?.['key'];
    for (const row of sql.pruneCounters.all(lookedUpTo, last ?? afterAllKeys, now)) {
      sql.dropLeases.run(String(row['key']), String(row['name']), Number(row['period_start']));
    }
    lookedUpTo = String(last ?? '');
  }

  return function noteStep(order: StepOrder, now: number): void {
    steps += 1;
    counters += order.counters.length;
    if (steps < stepsPerPruning) return;
    // Steps of the future are from a clock that was ahead; they come before all that follow.
    sql.pruneSteps.run(now - stepKeptMs, now + stepKeptMs);
    sql.pruneLeases.run(order.keyId, now - leaseToldMs);
    pruneCounters(now);
    steps = 0;
    counters = 0;
  };
}

function prepareStatements(database: DatabaseSync) {
  return {
    pruneSteps: database.prepare(`
      DELETE FROM steps
      WHERE taken NOT BETWEEN ? AND ? AND seq IN (SELECT seq FROM steps ORDER BY seq LIMIT 64)`),
    pruneLeases: database.prepare('DELETE FROM leases WHERE key = ? AND told < ?'),
    findKeyAfter: database.prepare('SELECT key FROM counters WHERE key > ? ORDER BY key LIMIT 1 OFFSET ?'),
    pruneCounters: database.prepare(`
      DELETE FROM counters WHERE key > ? AND key <= ? AND period_end < ?
      RETURNING key, name, period_start`),
    dropLeases: database.prepare('DELETE FROM leases WHERE key = ? AND name = ? AND period_start = ?'),
  };
}
