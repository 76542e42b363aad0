import { soon } from '../refusals.ts';
import { AdminProblem } from './problem.ts';

/** Whether the gateway is stopping. From then on no client is waited for: it can send the rest to the next gateway. */
export class Stopping {
  #begun = false;
  readonly #waiting = new Set<() => void>();

  begin(): void {
    this.#begun = true;
    for (const giveUp of this.#waiting) giveUp();
  }

  /**
   * What a client is asked to send, unless the gateway stops first: then it is not even asked. Racing it against one shared promise
   * would do, but that would hold on to everything ever read while the gateway runs.
   */
  async orStop<T>(read: () => Promise<T>): Promise<T> {
    if (this.#begun) throw stoppingProblem();
    const { promise, resolve, reject } = Promise.withResolvers<T>();
    const giveUp = (): void => reject(stoppingProblem());
    this.#waiting.add(giveUp);
    read().then(resolve, reject);
    return await promise.finally(() => this.#waiting.delete(giveUp));
  }

  /** The same for each piece of something long. */
  async *untilBegun<T>(pieces: AsyncIterable<T>): AsyncGenerator<T> {
    const iterator = pieces[Symbol.asyncIterator]();
    try {
      for (;;) {
        const next = await this.orStop(() => iterator.next());
        if (next.done === true) return;
        yield next.value;
      }
    } finally {
      // Not waited for: it ends only after a piece that may never come.
      void iterator.return?.();
    }
  }
}

function stoppingProblem(): AdminProblem {
  return new AdminProblem('stopping', 'The gateway is stopping', { headers: soon });
}
