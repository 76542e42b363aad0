import { afterReading, whenAllIsRead } from './when-all-is-read.ts';

/** The clocks and the timer of a process, in one place so that tests can turn them. */
export interface Clock {
  /** Milliseconds since the epoch. It may jump: people and time servers set it. */
  wall(): number;
  /** Milliseconds that only go forward, from any start. It may stand still while the machine sleeps. */
  mono(): number;
  /** Calls back once, as `afterReading` does, unless cancelled first by calling the function returned. */
  after(delayMs: number, callback: () => void): () => void;
  /** Calls back at the end of this turn of the event loop, when what was asked of the store is on its way. */
  whenAllIsRead(callback: () => void): void;
}

/** Resolves after that time. */
export function pause(clock: Pick<Clock, 'after'>, delayMs: number): Promise<void> {
  return new Promise((resolve) => void clock.after(delayMs, resolve));
}

/** The real clocks. */
export const systemClock: Clock = {
  wall: () => Date.now(),
  mono: () => performance.now(),
  whenAllIsRead,
  after: afterReading,
};
