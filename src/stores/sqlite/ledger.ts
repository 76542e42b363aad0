import type { DatabaseSync } from 'node:sqlite';
import type {
  Counter,
  DrawAnswer,
  DrawOrder,
  Ledger,
  StepOrder,
  UnitsOrder,
  Usage,
  UsageOrder,
} from '../ledger.ts';
import { keptUntil, leaseToldMs } from '../retention.ts';
import { unavailable } from '../store-unavailable.ts';
import { prepareUnitsPruning } from './prune-units.ts';
import type { Synchronous } from './transact.ts';

type UnitsCalls = Synchronous<
  Pick<Ledger, 'draw' | 'giveBack' | 'charge' | 'cancelDraw' | 'readUsage' | 'setUsage'>
>;

/** Only a draw that took something is remembered. */
type Drawn = Extract<DrawAnswer, { kind: 'drawn' }>;

/** Prepares the units ledger. The clock is the machine's, which all processes on one file share. */
export function prepareUnits(database: DatabaseSync, clock: () => number): UnitsCalls {
  const sql = prepareStatements(database);
  const prune = prepareUnitsPruning(database);

  /** Reads what it needs before it knows whether its id is new: nearly all are, and need not be looked up. */
  function draw(order: DrawOrder): DrawAnswer {
    const kept = order.counters.map((counter) => findCounter(sql, order, counter));
    const answer = judgeDraw(order, kept, clock());
    const isNew = answer.kind === 'drawn' && remember(sql, order, answer.now, JSON.stringify(answer));
    const earlier = isNew ? undefined : sql.findStep.get(order.id, order.keyId);
    if (earlier !== undefined) return answerAgain(earlier['answer']);
    if (answer.kind === 'drawn') count(order, kept, answer);
    else if (answer.kind === 'exhausted') keepCounters(sql, order);
    return answer;
  }

  function count(order: DrawOrder, kept: readonly Kept[], { units, now }: Drawn): void {
    const held = order.held + units;
    for (const [index, counter] of order.counters.entries()) {
      addUnits(sql, order.keyId, counter, units);
      if (held > 0 || kept[index]?.isHeld === true) tellLease(sql, order, counter, { units: held, now });
    }
    prune(order, now);
  }

  /** Takes a step with each of its counters, unless its id is known. */
  function takeStep(order: UnitsOrder, move: (counter: Counter) => void): void {
    const now = clock();
    if (!remember(sql, order, now, null)) return;
    for (const [index, counter] of order.counters.entries()) {
      move(counter);
      tellLease(sql, order, counter, { units: order.held[index] ?? 0, now });
    }
    prune(order, now);
  }

  function cancelDraw(order: StepOrder): void {
    const now = clock();
    if (remember(sql, order, now, null)) return prune(order, now);
    undoDraw(sql, order, sql.findStep.get(order.id, order.keyId)?.['answer']);
    sql.burnStep.run(order.id, order.keyId);
  }

  function giveBack(order: UnitsOrder): void {
    takeStep(order, (counter) => sql.takeUnits.run(...counterKey(order.keyId, counter), order.units));
  }

  function charge(order: UnitsOrder): void {
    takeStep(order, (counter) => addUnits(sql, order.keyId, counter, order.units));
  }

  function setUsage({ keyId, counters, spent }: UsageOrder): readonly Usage[] | 'not_current' {
    const now = clock();
    if (!areCurrent(counters, now)) return 'not_current';
    return counters.map((counter) => {
      const leased = readLeased(sql, keyId, counter, now);
      const used = Math.min(spent + leased, Number.MAX_SAFE_INTEGER);
      sql.setUnits.run(...counterKey(keyId, counter), keptUntil(counter), used);
      return { used, leased };
    });
  }

  return {
    draw,
    giveBack,
    charge,
    cancelDraw,
    readUsage: (keyId, counters) => counters.map((counter) => readUsage(sql, keyId, counter, clock())),
    setUsage,
  };
}

/** `kept` is what is kept of the counters, in their order. */
function judgeDraw({ counters, need, want }: DrawOrder, kept: readonly Kept[], now: number): DrawAnswer {
  if (!areCurrent(counters, now)) return { kind: 'not_current', now };
  const used = kept.map((counter) => counter.used);
  const left = counters.map((counter, index) => Math.max(counter.limit - (used[index] ?? 0), 0));
  if (left.some((units) => units < need)) return { kind: 'exhausted', used, now };
  const units = Math.min(want, ...left);
  return { kind: 'drawn', units, used: used.map((one) => one + units), now };
}

/** Whether the periods of all of them run. */
function areCurrent(counters: readonly Counter[], now: number): boolean {
  return counters.every(({ periodStart, periodEnd }) => periodStart <= now && now < periodEnd);
}

/** False when the id is known: then nothing must be done again. Of what is no draw no answer is kept. */
function remember(sql: Statements, { id, keyId }: StepOrder, now: number, answer: string | null): boolean {
  return sql.addStep.run(id, keyId, now, answer).changes === 1;
}

/** What was remembered of a draw; undefined for a burnt id, and for a step that is no draw. */
function drawnBy(answer: unknown): Drawn | undefined {
  return typeof answer === 'string' ? (JSON.parse(answer) as Drawn) : undefined;
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
    const key = counterKey(order.keyId, counter);
    sql.takeUnits.run(...key, drawn.units);
    sql.lowerLease.run(...key, order.holder, drawn.units);
  }
}

function addUnits(sql: Statements, keyId: string, counter: Counter, units: number): void {
  sql.addUnits.run(...counterKey(keyId, counter), keptUntil(counter), units);
}

/** The periods may have been made longer since units were last taken, and they count in all of them. */
function keepCounters(sql: Statements, { keyId, counters }: DrawOrder): void {
  for (const counter of counters) sql.keepCounter.run(...counterKey(keyId, counter), keptUntil(counter));
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

interface Kept {
  readonly used: number;
  /** Whether the process has told that it holds some of that. */
  readonly isHeld: boolean;
}

/** In one statement, as each costs some two microseconds. */
function findCounter(sql: Statements, { keyId, holder }: StepOrder, counter: Counter): Kept {
  const row = sql.findCounter.get(...counterKey(keyId, counter), holder);
  return { used: Number(row?.['used'] ?? 0), isHeld: row?.['held'] === 1 };
}

function readUsage(sql: Statements, keyId: string, counter: Counter, now: number): Usage {
  const used = Number(sql.readCounter.get(...counterKey(keyId, counter))?.['used'] ?? 0);
  return { used, leased: Math.min(readLeased(sql, keyId, counter, now), used) };
}

function readLeased(sql: Statements, keyId: string, counter: Counter, now: number): number {
  return Number(sql.readLeases.get(...counterKey(keyId, counter), now - leaseToldMs)?.['units'] ?? 0);
}

function counterKey(keyId: string, counter: Counter): [string, string, number] {
  return [keyId, counter.name, counter.periodStart];
}

type Statements = ReturnType<typeof prepareStatements>;

function prepareStatements(database: DatabaseSync) {
  const counter = 'key = ?1 AND name = ?2 AND period_start = ?3';
  return {
    findStep: database.prepare('SELECT answer FROM steps WHERE id = ? AND key = ?'),
    addStep: database.prepare(
      'INSERT INTO steps (id, key, taken, answer) VALUES (?, ?, ?, ?) ON CONFLICT DO NOTHING',
    ),
    burnStep: database.prepare('UPDATE steps SET answer = NULL WHERE id = ? AND key = ?'),
    readCounter: database.prepare(`SELECT used FROM counters WHERE ${counter}`),
    findCounter: database.prepare(`
      SELECT
        (SELECT used FROM counters WHERE ${counter}) AS used,
        EXISTS (SELECT 1 FROM leases WHERE ${counter} AND holder = ?4) AS held`),
    // Usage saturates where a number stops being exact. `period_end` is until when the counter is kept, by the longest period
    // counted in it.
    addUnits: database.prepare(`
      INSERT INTO counters VALUES (?, ?, ?, ?, ?)
      ON CONFLICT DO UPDATE SET
        used = min(used + excluded.used, ${Number.MAX_SAFE_INTEGER}),
        period_end = max(period_end, excluded.period_end)`),
    setUnits: database.prepare(`
      INSERT INTO counters VALUES (?, ?, ?, ?, ?)
      ON CONFLICT DO UPDATE SET used = excluded.used, period_end = max(period_end, excluded.period_end)`),
    takeUnits: database.prepare(`UPDATE counters SET used = max(used - ?4, 0) WHERE ${counter}`),
    keepCounter: database.prepare(`UPDATE counters SET period_end = ?4 WHERE ${counter} AND period_end < ?4`),
    tellLease: database.prepare(`
      INSERT INTO leases VALUES (?, ?, ?, ?, ?, ?)
      ON CONFLICT DO UPDATE SET units = excluded.units, told = excluded.told`),
    endLease: database.prepare(`DELETE FROM leases WHERE ${counter} AND holder = ?4`),
    lowerLease: database.prepare(
      `UPDATE leases SET units = max(units - ?5, 0) WHERE ${counter} AND holder = ?4`,
    ),
    readLeases: database.prepare(`SELECT sum(units) AS units FROM leases WHERE ${counter} AND told > ?4`),
  };
}
