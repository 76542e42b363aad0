import type { WhenLeft } from '../../src/quota/reserve-order.ts';

/** Somebody who waits for an answer, and may leave. */
export interface TestClient {
  readonly whenLeft: WhenLeft;
  readonly hasLeft: boolean;
  leave(reason: unknown): void;
}

export function aClient(): TestClient {
  const left = new AbortController();
  return {
    whenLeft(tell) {
      const leave = (): void => tell(left.signal.reason);
      if (left.signal.aborted) leave();
      else left.signal.addEventListener('abort', leave);
      return () => left.signal.removeEventListener('abort', leave);
    },
    get hasLeft() {
      return left.signal.aborted;
    },
    leave: (reason) => left.abort(reason),
  };
}
