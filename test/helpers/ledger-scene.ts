import { StoreUnavailable } from '../../src/stores/store-unavailable.ts';
import { createMemoryLedger } from './memory-ledger.ts';
import { createTurnableClock } from './turnable-clock.ts';

/** A store on a clock that stands still, whose weather the test makes, and the options that processes share. */
export function createLedgerScene(start?: number) {
  const clock = createTurnableClock(start);
  const problems: unknown[] = [];
  const weather = { refuses: false, loses: false, takesMs: 0 };
  /** The store keeps the time that the process had at first, however the wall clock jumps later. */
  const startOfMono = clock.wall() - clock.mono();
  let storeAhead = 0;
  const ledger = createMemoryLedger({
    now: () => Math.floor(clock.mono()) + startOfMono + storeAhead,
    before: () => {
      if (weather.refuses) throw new StoreUnavailable('refused', { mayHaveHappened: false });
      if (weather.takesMs > 0) return new Promise((resolve) => void clock.after(weather.takesMs, resolve));
      return undefined;
    },
    after: () => {
      if (weather.loses) throw new StoreUnavailable('lost', { mayHaveHappened: true });
    },
  });
  const options = {
    ledger,
    clock,
    holder: 'one',
    deadlineMs: 250,
    onError: (error: unknown) => void problems.push(error),
  };
  return {
    clock,
    ledger,
    weather,
    options,
    problems,
    /** Sets the store's clock forward or back. */
    jumpStore: (ms: number) => void (storeAhead += ms),
  };
}
