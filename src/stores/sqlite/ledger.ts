import type { DatabaseSync } from 'node:sqlite';
import {
  unavailable,
  type Counter,
  type DrawAnswer,
  type DrawOrder,
  type Ledger,
  type StepOrder,
  type UnitsOrder,
  type Usage,
} from '../ledger.ts';
import { keptUntil, leaseToldMs } from '../retention.ts';
import { prepareUnitsPruning } from './prune-units.ts';
import { transact, type Synchronous } from './transact.ts';

type UnitsCalls = Synchronous<
  Pick<Ledger, 'draw' | 'giveBack' | 'charge' | 'cancelDraw' | 'readUsage' | 'resetUsage'>
>;

/** The answer kept for a step that is not a draw. */
const noAnswer = '';

/** Only a draw that took something is remembered. */
type Drawn = Extract<DrawAnswer, { kind: 'drawn' }>;

/** Prepares the units ledger. The clock is the machine's, which all processes on one file share. */
export function prepareUnits(database: DatabaseSync, clock: () => number): UnitsCalls {
  const sql = prepareStatements(database);
  const prune = prepareUnitsPruning(database);

  /** Takes a step with each of its counters, unless its id is known, and remembers it. */
  function takeStep(order: UnitsOrder, move: (counter: Counter) => void): void {
    transact(database, () => {
      if (sql.findStep.get(order.id, order.keyId) !== undefined) return;
      const now = clock();
      for (const counter of order.counters) move(counter);
      remember(order, now, noAnswer);
      for (const counter of order.counters) tellLease(sql, order, counter, { units: order.held, now });
    });
  }

  function remember(order: StepOrder, now: number, answer: string | null): void {
    sql.addStep.run(order.id, order.keyId, now, answer);
    prune(order, now);
  }

  return {
    draw: (order) =>
      transact(database, () => {
        const earlier = sql.findStep.get(order.id, order.keyId);
        if (earlier !== undefined) return answerAgain(earlier['answer']);
        const answer = judgeDraw(sql, order, clock());
        if (answer.kind === 'drawn') remember(order, answer.now, JSON.stringify(answer));
        return answer;
      }),
    giveBack: (order) =>
      takeStep(order, (counter) => sql.takeUnits.run(order.units, ...counterKey(order.keyId, counter))),
    charge: (order) => takeStep(order, (counter) => addUnits(sql, order.keyId, counter, order.units)),
    cancelDraw: (order) =>
      transact(database, () => {
        const earlier = sql.findStep.get(order.id, order.keyId);
        if (earlier === undefined) {
          remember(order, clock(), null);
          return;
        }
        undoDraw(sql, order, earlier['answer']);
        sql.burnStep.run(order.id, order.keyId);
      }),
    readUsage: (keyId, counters) => counters.map((counter) => readUsage(sql, keyId, counter, clock())),
    resetUsage: (keyId, counters) =>
      transact(database, () => {
        for (const counter of counters) sql.resetCounter.run(...counterKey(keyId, counter));
      }),
  };
}

function judgeDraw(sql: Statements, order: DrawOrder, now: number): DrawAnswer {
  const { keyId, counters, need, want } = order;
  if (counters.some(({ periodStart, periodEnd }) => now < periodStart || now >= periodEnd)) {
    return { kind: 'not_current', now };
  }
  const used = counters.map((counter) => usedOf(sql, keyId, counter));
  const left = counters.map((counter, index) => Math.max(counter.limit - (used[index] ?? 0), 0));
  if (left.some((units) => units < need)) {
    for (const counter of counters) keepCounter(sql, keyId, counter);
    return { kind: 'exhausted', used, now };
  }
  const units = Math.min(want, ...left);
  const held = Math.max(order.held + units, 0);
  for (const counter of counters) tellLease(sql, order, counter, { units: held, now });
  return { kind: 'drawn', units, used: counters.map((counter) => addUnits(sql, keyId, counter, units)), now };
}

/** What was remembered of a draw; undefined for a burnt id, and for a step that is no draw. */
function drawnBy(answer: unknown): Drawn | undefined {
  return typeof answer === 'string' && answer !== noAnswer ? (JSON.parse(answer) as Drawn) : undefined;
}

function answerAgain(answer: unknown): DrawAnswer {
  const drawn = drawnBy(answer);
  if (drawn !== undefined) return drawn;
  throw unavailable('the draw was cancelled before it ran');
}

function undoDraw(sql: Statements, order: StepOrder, answer: unknown): void {
  const drawn = drawnBy(answer);
  if (drawn === undefined) return;
  for (const counter of order.counters) {
    sql.takeUnits.run(drawn.units, ...counterKey(order.keyId, counter));
    sql.lowerLease.run(drawn.units, ...counterKey(order.keyId, counter), order.holder);
  }
}

function addUnits(sql: Statements, keyId: string, counter: Counter, units: number): number {
  return Number(sql.addUnits.get(...counterKey(keyId, counter), keptUntil(counter), units)?.['used']);
}

/** The period may have been made longer since units were last taken, and they count in all of it. */
function keepCounter(sql: Statements, keyId: string, counter: Counter): void {
  const until = keptUntil(counter);
  sql.keepCounter.run(until, ...counterKey(keyId, counter), until);
}

function tellLease(
  sql: Statements,
  order: { readonly keyId: string; readonly holder: string },
  counter: Counter,
  { units, now }: { units: number; now: number },
): void {
  const key = [...counterKey(order.keyId, counter), order.holder] as const;
  if (units > 0) sql.tellLease.run(...key, units, now);
  else sql.endLease.run(...key);
}

function usedOf(sql: Statements, keyId: string, counter: Counter): number {
  return Number(sql.readCounter.get(...counterKey(keyId, counter))?.['used'] ?? 0);
}

function readUsage(sql: Statements, keyId: string, counter: Counter, now: number): Usage {
  const used = usedOf(sql, keyId, counter);
  const leased = Number(sql.readLeases.get(...counterKey(keyId, counter), now - leaseToldMs)?.['units'] ?? 0);
  return { used, leased: Math.min(leased, used) };
}

function counterKey(keyId: string, counter: Counter): [string, string, number] {
  return [keyId, counter.name, counter.periodStart];
}

type Statements = ReturnType<typeof prepareStatements>;

function prepareStatements(database: DatabaseSync) {
  const counter = 'key = ? AND name = ? AND period_start = ?';
  return {
    findStep: database.prepare('SELECT answer FROM steps WHERE id = ? AND key = ?'),
    addStep: database.prepare('INSERT INTO steps (id, key, taken, answer) VALUES (?, ?, ?, ?)'),
    burnStep: database.prepare('UPDATE steps SET answer = NULL WHERE id = ? AND key = ?'),
    readCounter: database.prepare(`SELECT used FROM counters WHERE ${counter}`),
    // Usage saturates where a number stops being exact. `period_end` is until when the counter is kept, by the longest period
    // counted in it; under another name, older gateways could not use the file.
    addUnits: database.prepare(`
      INSERT INTO counters VALUES (?, ?, ?, ?, ?)
      ON CONFLICT DO UPDATE SET
        used = min(used + excluded.used, ${Number.MAX_SAFE_INTEGER}),
        period_end = max(period_end, excluded.period_end)
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
  };
}
