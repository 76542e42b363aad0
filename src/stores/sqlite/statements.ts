import type { DatabaseSync } from 'node:sqlite';

/** The SQL of the units ledger. */
export type Statements = ReturnType<typeof prepareStatements>;

/** Prepares the statements of the units ledger. */
export function prepareStatements(database: DatabaseSync) {
  const counter = 'key = ? AND name = ? AND period_start = ?';
  return {
    findStep: database.prepare('SELECT answer FROM steps WHERE id = ? AND key = ?'),
    addStep: database.prepare('INSERT INTO steps (id, key, taken, answer) VALUES (?, ?, ?, ?)'),
    burnStep: database.prepare('UPDATE steps SET answer = NULL WHERE id = ? AND key = ?'),
    readCounter: database.prepare(`SELECT used FROM counters WHERE ${counter}`),
    // Usage saturates where a number stops being exact.
    raiseCounter: database.prepare(`
      UPDATE counters SET used = min(used + ?, ${Number.MAX_SAFE_INTEGER})
      WHERE ${counter} AND period_end >= ? RETURNING used`),
    // `period_end` is until when the counter is kept, by the longest period counted in it; under another name, older gateways could
    // not use the file. On a conflict the new end is the later one, or `raiseCounter` would have found the counter.
    addUnits: database.prepare(`
      INSERT INTO counters VALUES (?, ?, ?, ?, ?)
      ON CONFLICT DO UPDATE SET
        used = min(used + excluded.used, ${Number.MAX_SAFE_INTEGER}),
        period_end = excluded.period_end
      RETURNING used`),
    takeUnits: database.prepare(`UPDATE counters SET used = max(used - ?, 0) WHERE ${counter}`),
    keepCounter: database.prepare(`UPDATE counters SET period_end = ? WHERE ${counter} AND period_end < ?`),
    resetCounter: database.prepare(`UPDATE counters SET used = 0 WHERE ${counter}`),
    tellLease: database.prepare(`
      INSERT INTO leases VALUES (?, ?, ?, ?, ?, ?)
      ON CONFLICT DO UPDATE SET units = excluded.units, told = excluded.told`),
    endLease: database.prepare(`DELETE FROM leases WHERE ${counter} AND holder = ?`),
    lowerLease: database.prepare(
      `UPDATE leases SET units = max(units - ?, 0) WHERE ${counter} AND holder = ?`,
    ),
    readLeases: database.prepare(`SELECT sum(units) AS units FROM leases WHERE ${counter} AND told > ?`),
    pruneSteps: database.prepare(`
      DELETE FROM steps
      WHERE taken NOT BETWEEN ? AND ? AND seq IN (SELECT seq FROM steps ORDER BY seq LIMIT 64)`),
    pruneLeases: database.prepare(`DELETE FROM leases WHERE key = ? AND told < ?`),
    dropLeases: database.prepare(`DELETE FROM leases WHERE ${counter}`),
    pruneCounters: database.prepare(`
      DELETE FROM counters WHERE (key, name, period_start) IN
        (SELECT key, name, period_start FROM counters WHERE period_end < ? LIMIT 64)
      RETURNING key, name, period_start`),
  };
}
