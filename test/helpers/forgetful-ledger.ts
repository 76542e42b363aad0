import {
  unavailable,
  type DrawAnswer,
  type DrawOrder,
  type StepOrder,
  type UnitsOrder,
} from '../../src/stores/ledger.ts';

/** As in step.lua. */
const stepsMinMs = 10_000;
const stepsMin = 16;

type Answer = DrawAnswer | 'taken' | 'burnt';

/** What is remembered of a key and a holder. */
interface Steps {
  latest: Map<string, Answer>;
  earlier: Map<string, Answer>;
  begun: number;
  top: number;
  earlierTop: number;
  floor: number;
}

/** Counts the one quota of each key, takes each call at once, and forgets steps as soon as Redis does. */
export function createForgetfulLedger(now: () => number) {
  const used = new Map<string, number>();
  const remembered = new Map<string, Steps>();

  function begin({ id, keyId, holder }: StepOrder) {
    const steps = remembered.getOrInsertComputed(`${keyId} ${holder}`, () => ({
      latest: new Map(),
      earlier: new Map(),
      begun: now(),
      top: 0,
      earlierTop: 0,
      floor: 0,
    }));
    const nth = Number(/\d+$/.exec(id)?.[0]);
    const earlier = steps.latest.get(id) ?? steps.earlier.get(id);
    return { steps, nth, earlier, forgotten: earlier === undefined && nth <= steps.floor };
  }

  function remember({ steps, nth }: ReturnType<typeof begin>, id: string, answer: Answer): void {
    if (nth > steps.top && now() - steps.begun > stepsMinMs && steps.latest.size >= stepsMin) {
      steps.floor = steps.earlierTop;
      steps.earlier = steps.latest;
      steps.earlierTop = steps.top;
      steps.latest = new Map();
      steps.begun = now();
    }
    steps.top = Math.max(steps.top, nth);
    steps.latest.set(id, answer);
  }

  function count(keyId: string, units: number): void {
    used.set(keyId, Math.max((used.get(keyId) ?? 0) + units, 0));
  }

  function add(order: UnitsOrder, units: number): void {
    const step = begin(order);
    if (step.earlier !== undefined || step.forgotten) return;
    remember(step, order.id, 'taken');
    count(order.keyId, units);
  }

  return {
    used: (keyId: string): number => used.get(keyId) ?? 0,
    draw(order: DrawOrder): DrawAnswer {
      const step = begin(order);
      if (step.forgotten || typeof step.earlier === 'string') throw unavailable('burnt');
      if (step.earlier !== undefined) return step.earlier;
      count(order.keyId, order.want);
      const total = used.get(order.keyId) ?? 0;
      const answer = { kind: 'drawn', units: order.want, used: [total], now: now() } as const;
      remember(step, order.id, answer);
      return answer;
    },
    giveBack: (order: UnitsOrder): void => add(order, -order.units),
    charge: (order: UnitsOrder): void => add(order, order.units),
    cancelDraw(order: StepOrder): void {
      const step = begin(order);
      const { earlier, steps } = step;
      if (earlier === undefined) return remember(step, order.id, 'burnt');
      if (typeof earlier === 'string' || earlier.kind !== 'drawn') return;
      (steps.latest.has(order.id) ? steps.latest : steps.earlier).set(order.id, 'burnt');
      count(order.keyId, -earlier.units);
    },
  };
}
