import type { DrawAnswer, DrawOrder, StepOrder, UnitsOrder } from '../../src/stores/ledger.ts';
import { unavailable } from '../../src/stores/store-unavailable.ts';

type Answer = DrawAnswer | 'taken' | 'burnt';

/** What is remembered of a key and a holder. */
interface Steps {
  readonly answers: Map<number, Answer>;
  floor: number;
}

/** Counts the one quota of each key, takes each call at once, and forgets each step as soon as it may. */
export function createForgetfulLedger(now: () => number) {
  const used = new Map<string, number>();
  const remembered = new Map<string, Steps>();

  function begin({ id, keyId, holder }: StepOrder) {
    const steps = remembered.getOrInsertComputed(`${keyId} ${holder}`, () => ({
      answers: new Map<number, Answer>(),
      floor: 0,
    }));
    const nth = Number(/\d+$/.exec(id)?.[0]);
    return { steps, nth, earlier: steps.answers.get(nth), forgotten: nth <= steps.floor };
  }

  function remember({ steps, nth }: ReturnType<typeof begin>, { openFrom }: StepOrder, answer: Answer): void {
    steps.answers.set(nth, answer);
    steps.floor = Math.max(steps.floor, openFrom - 1);
    for (const known of steps.answers.keys()) if (known <= steps.floor) steps.answers.delete(known);
  }

  function count(keyId: string, units: number): void {
    used.set(keyId, Math.max((used.get(keyId) ?? 0) + units, 0));
  }

  function add(order: UnitsOrder, units: number): void {
    const step = begin(order);
    if (step.earlier !== undefined || step.forgotten) return;
    remember(step, order, 'taken');
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
      remember(step, order, answer);
      return answer;
    },
    giveBack: (order: UnitsOrder): void => add(order, -order.units),
    charge: (order: UnitsOrder): void => add(order, order.units),
    cancelDraw(order: StepOrder): void {
      const step = begin(order);
      remember(step, order, 'burnt');
      const { earlier } = step;
      if (typeof earlier === 'object' && earlier.kind === 'drawn') count(order.keyId, -earlier.units);
    },
  };
}
