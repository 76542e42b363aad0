import type { DatabaseSync, StatementSync } from 'node:sqlite';
import type { StepOrder } from '../ledger.ts';
import { leaseToldMs } from '../retention.ts';

/** How long a step is remembered: far longer than any process repeats or cancels it. */
const stepKeptMs = 600_000;
/** Old rows are deleted a few at a time, once in this many steps, so that no step takes long. */
const stepsPerPruning = 16;
/** So many rows are looked at for each that a step may have made: at most a third more are kept than need be. */
const looksPerRow = 4;
/** SQLite sorts every text before every blob. */
const afterAllTexts = Uint8Array.of(0);

/**
 * Prepares to delete what is no longer needed of the units ledger, and has to be told of each step, after it is taken. An index of
 * what is oldest would find it at once, and be written for each new row: for a counter that is a page of its own, with a million
 * keys a quarter of what a look-up and a draw cost.
 */
export function prepareUnitsPruning(database: DatabaseSync) {
  const sql = prepareStatements(database);
  const stepsWalk = new Walk(sql.findStepAfter);
  const countersWalk = new Walk(sql.findCounterAfter);
  let steps = 0;
  let counters = 0;

  return function noteStep(order: StepOrder, now: number): void {
    steps += 1;
    counters += order.counters.length;
    if (steps < stepsPerPruning) return;
    // Steps of the future are from a clock that was ahead.
    sql.pruneSteps.run(...stepsWalk.next(looksPerRow * steps), now - stepKeptMs, now + stepKeptMs);
    sql.pruneLeases.run(order.keyId, now - leaseToldMs);
    for (const row of sql.pruneCounters.all(...countersWalk.next(looksPerRow * counters), now)) {
      sql.dropLeases.run(String(row['key']), String(row['name']), Number(row['period_start']));
    }
    steps = 0;
    counters = 0;
  };
}

/** Goes through a table in the order of a column, some rows at a time, and begins anew after the last. */
class Walk {
  readonly #findAfter: StatementSync;
  #upTo = '';

  constructor(findAfter: StatementSync) {
    this.#findAfter = findAfter;
  }

  /** The next part of the table: it begins after the first and ends with the second. */
  next(rows: number): [after: string, upTo: string | Uint8Array] {
    const after = this.#upTo;
    const last = this.#findAfter.get(after, rows)?.['last'];
    this.#upTo = String(last ?? '');
    return [after, last === undefined ? afterAllTexts : this.#upTo];
  }
}

function prepareStatements(database: DatabaseSync) {
  return {
    findStepAfter: database.prepare('SELECT id AS last FROM steps WHERE id > ? ORDER BY id LIMIT 1 OFFSET ?'),
    pruneSteps: database.prepare('DELETE FROM steps WHERE id > ? AND id <= ? AND taken NOT BETWEEN ? AND ?'),
    pruneLeases: database.prepare('DELETE FROM leases WHERE key = ? AND told < ?'),
    findCounterAfter: database.prepare(
      'SELECT key AS last FROM counters WHERE key > ? ORDER BY key LIMIT 1 OFFSET ?',
    ),
    pruneCounters: database.prepare(`
      DELETE FROM counters WHERE key > ? AND key <= ? AND period_end < ?
      RETURNING key, name, period_start`),
    dropLeases: database.prepare('DELETE FROM leases WHERE key = ? AND name = ? AND period_start = ?'),
  };
}
