import { StoreUnavailable } from '../ledger.ts';
import type { Counter, DrawAnswer, Ledger, PaceAnswer, UnitsOrder, Usage } from '../ledger.ts';
import { checkDraw, checkPace, checkUnits } from '../orders.ts';
import type { Link } from './link.ts';
import { nameKeys } from './names.ts';
import { scripts } from './scripts.ts';

/** The ledger in Redis: one script per step, by Redis's own clock. */
export function createRedisLedger(link: Link, prefix: string): Ledger {
  function stepKeys({
    keyId,
    holder,
    counters,
  }: Pick<UnitsOrder, 'keyId' | 'holder' | 'counters'>): string[] {
    const names = nameKeys(prefix, keyId);
    return [...names.steps(holder), ...counters.map(names.counter)];
  }

  async function add(order: UnitsOrder, units: number): Promise<void> {
    checkUnits(order);
    const ends = order.counters.map((counter) => counter.periodEnd);
    await link.run(scripts.add, stepKeys(order), [
      stepId(order.id),
      order.holder,
      units,
      order.held,
      ...ends,
    ]);
  }

  return {
    async draw(order) {
      checkDraw(order);
      const { holder, need, want, held, counters } = order;
      const periods = counters.flatMap(({ limit, periodStart, periodEnd }) => [
        limit,
        periodStart,
        periodEnd,
      ]);
      const args = [stepId(order.id), holder, need, want, held, ...periods];
      return readDraw(await link.run(scripts.draw, stepKeys(order), args));
    },
    giveBack: (order) => add(order, -order.units),
    charge: (order) => add(order, order.units),
    async cancelDraw(order) {
      await link.run(scripts.cancel, stepKeys(order), [stepId(order.id), order.holder]);
    },
    async pace(order) {
      checkPace(order);
      const { keyId, name, intervalMs, burst, want } = order;
      const answer = await link.run(
        scripts.pace,
        [nameKeys(prefix, keyId).rate(name)],
        [intervalMs, burst, want],
      );
      return readPace(answer);
    },
    async enter({ keyId, placeId, limit, expiresInMs }) {
      const entered = await link.run(
        scripts.enter,
        [nameKeys(prefix, keyId).places()],
        [placeId, limit, expiresInMs],
      );
      return { kind: entered === 1 ? 'entered' : 'full' };
    },
    async stay({ keyId, placeId, expiresInMs }) {
      await link.run(scripts.stay, [nameKeys(prefix, keyId).places()], [placeId, expiresInMs]);
    },
    async leave(keyId, placeId) {
      const places = nameKeys(prefix, keyId).places();
      await link.send(places, (redis) => redis.zrem(places, placeId));
    },
    readTime: async (keyId) => Number(await link.run(scripts.time, [nameKeys(prefix, keyId).places()], [])),
    async readUsage(keyId, counters) {
      if (counters.length === 0) return [];
      const answer = await link.run(scripts.usage, counters.map(nameKeys(prefix, keyId).counter), []);
      return readUsage(counters, answer);
    },
    async resetUsage(keyId, counters) {
      if (counters.length === 0) return;
      await link.run(scripts.reset, counters.map(nameKeys(prefix, keyId).counter), []);
    },
  };
}

/** No id may be the field in which a hash of steps keeps its own beginning. */
function stepId(id: string): string {
  return `:${id}`;
}

function readDraw(answer: unknown): DrawAnswer {
  const [kind, ...words] = String(answer).split(' ').filter(Boolean);
  const [now = 0, ...numbers] = words.map(Number);
  if (kind === '1') {
    const [units = 0, ...used] = numbers;
    return { kind: 'drawn', units, used, now };
  }
  if (kind === '2') return { kind: 'exhausted', used: numbers, now };
  if (kind === '3') return { kind: 'not_current', now };
  throw new StoreUnavailable('the draw was cancelled before it ran', { mayHaveHappened: false });
}

function readPace(answer: unknown): PaceAnswer {
  const [cells = 0, remaining = 0, retryInMs = 0, now = 0] = answer as readonly number[];
  return cells > 0 ? { kind: 'paced', cells, remaining, now } : { kind: 'too_fast', retryInMs, now };
}

function readUsage(counters: readonly Counter[], answer: unknown): readonly Usage[] {
  const numbers = String(answer).split(' ').map(Number);
  return counters.map(({ name }, index) => ({
    name,
    used: numbers[index * 2] ?? 0,
    leased: numbers[index * 2 + 1] ?? 0,
  }));
}
