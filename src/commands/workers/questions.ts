import { afterReading } from '../../waiting/when-all-is-read.ts';
import type { Answers, Question } from './worker-messages.ts';

type AnyAnswer = Answers[keyof Answers];

/** One whose answer is awaited. */
interface Waiting<Asked> {
  readonly asked: Asked;
  readonly resolve: (answer: AnyAnswer | undefined) => void;
}

/** Questions that are not answered yet. Those asked may answer late, or leave. */
export class Questions<Asked> {
  readonly #waiting = new Map<number, Waiting<Asked>>();
  #count = 0;

  /** Resolves with the answer, or with nothing once its time is over, which may be never, or the one asked has left. */
  async ask<About extends keyof Answers>(
    asked: Asked,
    about: About,
    send: (question: Question) => void,
    patienceMs: number,
  ): Promise<Answers[About] | undefined> {
    const id = (this.#count += 1);
    const answer = await new Promise<AnyAnswer | undefined>((resolve) => {
      // If this process was held up, all answers may lie there unread.
      if (patienceMs !== Infinity) afterReading(patienceMs, () => resolve(undefined));
      this.#waiting.set(id, { asked, resolve });
      send({ id, about });
    });
    this.#waiting.delete(id);
    return answer as Answers[About] | undefined;
  }

  /** An answer has come. Nobody waits for one that comes too late. */
  hear(id: number, answer: AnyAnswer): void {
    this.#waiting.get(id)?.resolve(answer);
  }

  /** The one asked has left: nobody waits for its answers any more. */
  drop(asked: Asked): void {
    for (const waiting of this.#waiting.values()) {
      if (waiting.asked === asked) waiting.resolve(undefined);
    }
  }
}
