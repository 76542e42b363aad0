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
  let steps = 0;
  let counters = 0;

  /**
   * Takes the next rows of a table in the order of a column: what comes after the first text, up to and with the second. After the
   * last row comes the first. All processes go on from one place, which the file holds: each with its own would look at what another
   * has just seen, and with eight that began together steps would pile up.
   */
  function walkOn(
    table: 'steps' | 'counters',
    findAfter: StatementSync,
    rows: number,
  ): [after: string, upTo: string | Uint8Array] {
    const after = String(sql.readWalk.get(table)?.['up_to'] ?? '');
    const last = findAfter.get(after, rows)?.['last'];
    sql.noteWalk.run(String(last ?? ''), table);
    return [after, last === undefined ? afterAllTexts : String(last)];
  }

  return function noteStep(order: StepOrder, now: number): void {
    steps += 1;
    counters += order.counters.length;
    if (steps < stepsPerPruning) return;
    // Steps of the future are from a clock that was ahead.
    sql.pruneSteps.run(
      ...walkOn('steps', sql.findStepAfter, looksPerRow * steps),
      now - stepKeptMs,
      now + stepKeptMs,
    );
    sql.pruneLeases.run(order.keyId, now - leaseToldMs);
    const walked = walkOn('counters', sql.findCounterAfter, looksPerRow * counters);
    for (const row of sql.pruneCounters.all(...walked, now)) {
      sql.dropLeases.run(String(row['key']), String(row['name']), Number(row['period_start']));
    }
    steps = 0;
    counters = 0;
  };
}

function prepareStatements(database: DatabaseSync) {
  return {
    readWalk: database.prepare('SELECT up_to FROM walks WHERE walked = ?'),
    noteWalk: database.prepare('UPDATE walks SET up_to = ? WHERE walked = ?'),
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
