import type { DatabaseSync } from 'node:sqlite';
import { takeCells, type RateState } from '../gcra.ts';
import type { CellsAnswer, CellsOrder, Ledger } from '../ledger.ts';
import type { Synchronous } from './transact.ts';

export function prepareRates(
  database: DatabaseSync,
  clock: () => number,
): Synchronous<Pick<Ledger, 'takeCells'>> {
  const find = database.prepare('SELECT base, cells, interval FROM rates WHERE key = ? AND name = ?');
  const keep = database.prepare(`
    INSERT INTO rates VALUES (?, ?, ?, ?, ?, ?)
    ON CONFLICT DO UPDATE SET
      base = excluded.base, cells = excluded.cells, interval = excluded.interval, rested = excluded.rested`);
  // A rate that has rested is the same as none; two are deleted for each one that may have come.
  const prune = database.prepare(`
    DELETE FROM rates WHERE (key, name) IN (SELECT key, name FROM rates WHERE rested < ? LIMIT 2)`);

  function take({ keyId, name, intervalMs, burst, want }: CellsOrder): CellsAnswer {
    const now = clock();
    const ask = { intervalMs, burst, want, now };
    const { taken, remaining, retryInMs, state, changed } = takeCells(readState(find.get(keyId, name)), ask);
    if (changed) {
      const { base, cells } = state;
      prune.run(now);
      keep.run(keyId, name, base, cells, intervalMs, Math.ceil(base + cells * intervalMs));
    }
    return taken > 0 ? { kind: 'taken', cells: taken, remaining, now } : { kind: 'too_fast', retryInMs, now };
  }

  return { takeCells: take };
}

function readState(row: ReturnType<ReturnType<DatabaseSync['prepare']>['get']>): RateState | undefined {
  if (row === undefined) return undefined;
  return { base: Number(row['base']), cells: Number(row['cells']), intervalMs: Number(row['interval']) };
}
