import { withChecks } from '../check-orders.ts';
import type { DrawAnswer, Ledger, CellsAnswer, PlaceOrder, StepOrder, UnitsOrder, Usage } from '../ledger.ts';
import { keptUntil, leaseToldMs, placeExpiresMaxMs } from '../retention.ts';
import { unavailable } from '../store-unavailable.ts';
import { notUnderstood } from './failures.ts';
import type { Link } from './link.ts';
import { nameKeys } from './names.ts';
import { scripts } from './scripts.ts';

/** The ledger in Redis: one script per step, by Redis's own clock. */
export function createRedisLedger(link: Link, prefix: string): Ledger {
  /** The keys, and the first arguments, of all scripts that take a step. */
  function beginStep({ id, keyId, holder, openFrom, counters }: StepOrder) {
    const names = nameKeys(prefix, keyId);
    const keys = [...names.steps(holder), ...counters.map(names.counter)];
    // The colon keeps ids apart from the fields in which a hash of steps describes itself.
    return [keys, [`:${id}`, holder, openFrom]] as const;
  }

  async function add(order: UnitsOrder, units: number): Promise<void> {
    const [keys, step] = beginStep(order);
    const ofEach = order.counters.flatMap((counter, index) => [order.held[index] ?? 0, keptUntil(counter)]);
    await link.run(scripts.add, keys, [...step, units, ...ofEach]);
  }

  /** Takes a place, or keeps it. False when others have as many as the limit. */
  async function takePlace({ keyId, placeId, expiresInMs }: PlaceOrder, limit: number): Promise<boolean> {
    const places = nameKeys(prefix, keyId).places();
    const args = [placeId, limit, expiresInMs, placeExpiresMaxMs];
    const [entered] = numbersOf([await link.run(scripts.enter, [places], args)], 1);
    return entered === 1;
  }

  return withChecks({
    async draw(order) {
      const { need, want, held, counters } = order;
      const periods = counters.flatMap((counter) => [
        counter.limit,
        counter.periodStart,
        counter.periodEnd,
        keptUntil(counter),
      ]);
      const [keys, step] = beginStep(order);
      const answer = await link.run(scripts.draw, keys, [...step, need, want, held, ...periods]);
      return readDraw(counters.length, answer);
    },
    giveBack: (order) => add(order, -order.units),
    charge: (order) => add(order, order.units),
    cancelDraw: async (order) => void (await link.run(scripts.cancel, ...beginStep(order))),
    async takeCells(order) {
      const { keyId, name, intervalMs, burst, want } = order;
      const rate = nameKeys(prefix, keyId).rate(name);
      return readCells(await link.run(scripts.takeCells, [rate], [intervalMs, burst, want]));
    },
    enter: async (order) => ((await takePlace(order, order.limit)) ? 'entered' : 'full'),
    // A place that was lost is taken again, whatever the limit: its request is in flight all the same.
    stay: async (order) => void (await takePlace(order, Number.MAX_SAFE_INTEGER)),
    async leave(keyId, placeId) {
      const places = nameKeys(prefix, keyId).places();
      await link.send(places, (redis) => redis.zrem(places, placeId));
    },
    onReturn: (hear) => link.onReturn(hear),
    async readTime(keyId) {
      const [now = 0] = numbersOf([await link.run(scripts.time, [nameKeys(prefix, keyId).places()], [])], 1);
      return now;
    },
    async readUsage(keyId, counters) {
      if (counters.length === 0) return [];
      const names = counters.map(nameKeys(prefix, keyId).counter);
      return readUsage(counters.length, await link.run(scripts.usage, names, [leaseToldMs]));
    },
    async setUsage({ keyId, counters, spent }) {
      const periods = counters.flatMap((counter) => [
        counter.periodStart,
        counter.periodEnd,
        keptUntil(counter),
      ]);
      const names = counters.map(nameKeys(prefix, keyId).counter);
      const answer = await link.run(scripts.setUsage, names, [leaseToldMs, spent, ...periods]);
      return answer === 'not_current' ? answer : readUsage(counters.length, answer);
    },
  });
}

function readDraw(counters: number, answer: unknown): DrawAnswer {
  const [kind, ...words] = String(answer).split(' ').filter(Boolean);
  if (kind === '1') {
    const [now = 0, units = 0, ...used] = numbersOf(words, 2 + counters);
    return { kind: 'drawn', units, used, now };
  }
  if (kind === '2') {
    const [now = 0, ...used] = numbersOf(words, 1 + counters);
    return { kind: 'exhausted', used, now };
  }
  if (kind === '3') {
    const [now = 0] = numbersOf(words, 1);
    return { kind: 'not_current', now };
  }
  if (kind !== '-') throw notUnderstood();
  throw unavailable('the draw was cancelled before it ran');
}

function readCells(answer: unknown): CellsAnswer {
  const [cells = 0, remaining = 0, retryInMs = 0, now = 0] = numbersOf(answer, 4);
  return cells > 0 ? { kind: 'taken', cells, remaining, now } : { kind: 'too_fast', retryInMs, now };
}

function readUsage(counters: number, answer: unknown): readonly Usage[] {
  const numbers = numbersOf(String(answer).split(' '), 2 * counters);
  return Array.from({ length: counters }, (_, index) => ({
    used: numbers[index * 2] ?? 0,
    leased: numbers[index * 2 + 1] ?? 0,
  }));
}

/** Exactly `count` numbers, as they are or as text: Lua's own are not exact near 2^53. */
function numbersOf(words: unknown, count: number): readonly number[] {
  const numbers = Array.isArray(words) ? words.map((word) => Number.parseFloat(String(word))) : [];
  if (numbers.length !== count || numbers.some(Number.isNaN)) throw notUnderstood();
  return numbers;
}
