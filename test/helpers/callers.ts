import { setTimeout as pause } from 'node:timers/promises';
import type { Scene } from './poll.ts';
import { call, type Answer } from './quota-scene.ts';
import type { Gateway } from './start-gateway.ts';

/** People who call one after another, all the time, whatever they are answered. */
export interface Callers {
  /** How often each answer came: `200`, or the refusal's code; `lost` when there was none. */
  readonly tally: ReadonlyMap<string, number>;
  stop(): Promise<void>;
}

interface CallersOptions {
  readonly count: number;
  readonly key: string;
  /** Those that there are at the moment. */
  readonly gateways: () => readonly Gateway[];
}

/** Starts them with one key. */
export function startCallers(t: Scene, { count, key, gateways }: CallersOptions): Callers {
  const tally = new Map<string, number>();
  const ending = new AbortController();

  async function callOn(index: number): Promise<void> {
    for (let turn = index; !ending.signal.aborted; turn += 1) {
      const all = gateways();
      const gateway = all[turn % all.length];
      const outcome = gateway === undefined ? 'nobody' : await outcomeOf(call(gateway, { key }));
      tally.set(outcome, (tally.get(outcome) ?? 0) + 1);
      if (outcome !== '200') await pause(100);
    }
  }

  const running = Array.from({ length: count }, (_, index) => callOn(index));
  const stop = async (): Promise<void> => {
    ending.abort();
    await Promise.all(running);
  };
  t.after(stop);
  return { tally, stop };
}

async function outcomeOf(answer: Promise<Answer>): Promise<string> {
  try {
    const { status, refusal } = await answer;
    return refusal ?? String(status);
  } catch {
    return 'lost';
  }
}
