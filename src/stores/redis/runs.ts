import type { Client } from './client/client.ts';
import { isRefusal, notUnderstood } from './failures.ts';
import type { Breaker, Call, Health } from './health.ts';
import { callOf, type Command, type Script, type SharedScript, type Words } from './scripts.ts';

/** One caller of the script. */
interface Run {
  readonly keys: readonly string[];
  readonly args: Words;
  readonly resolve: (answer: unknown) => void;
  readonly reject: (error: unknown) => void;
}

/**
 * This many leave at once, and Redis works on them while more are read here. If all waited for the end of the turn, Redis and we
 * would mostly wait for each other. With a draw and a look-up for each request: 16 % more requests per second than with 64.
 */
const runsMax = 8;

/**
 * Callers of the same script, one after another in one turn of the event loop. They share one call to Redis, and each has an answer
 * or a failure of its own. Most of the cost of a call here is paid once, however many share it.
 *
 * A class, not an object with a getter: V8 gives each such object a shape of its own, old from the start, which keeps the getter
 * and everything it leads to until the whole heap is collected.
 */
export class Runs implements Call<unknown> {
  readonly breaker: Breaker;
  readonly #script: SharedScript;
  readonly #health: Health;
  readonly #runs: Run[] = [];

  constructor(script: SharedScript, breaker: Breaker, health: Health) {
    this.#script = script;
    this.#health = health;
    this.breaker = breaker;
  }

  get waiting(): number {
    return this.#runs.length;
  }

  get isFull(): boolean {
    return this.#runs.length >= runsMax;
  }

  takes(script: Script): boolean {
    return script === this.#script;
  }

  join(keys: readonly string[], args: Words): Promise<unknown> {
    return new Promise((resolve, reject) => {
      this.#runs.push({ keys, args, resolve, reject });
    });
  }

  /** The call for all of them. A cluster may refuse it: then `onCluster` is told, and each becomes a call of its own. */
  compose(onCluster: () => void): Command<unknown> {
    const [first, second] = this.#runs;
    if (first !== undefined && second === undefined) return callOf(this.#script, first.keys, first.args);
    const keys: string[] = [];
    const words: string[] = [];
    for (const run of this.#runs) {
      keys.push(...run.keys);
      words.push([...run.args, run.keys.length].join(' '));
    }
    const together = callOf(this.#script.many, keys, words);
    return (client, waiting) =>
      together(client, waiting).catch((thrown: unknown) => {
        if (!isRefusal(thrown, 'CROSSSLOT') || !waiting()) throw thrown;
        onCluster();
        return this.#askApart(client, waiting);
      });
  }

  #askApart(client: Client, waiting: () => boolean): Promise<unknown[]> {
    const calls = this.#runs.map(({ keys, args }) => callOf(this.#script, keys, args)(client, waiting));
    return Promise.all(calls.map((call) => call.catch((thrown: unknown) => thrown)));
  }

  /** Gives each its own answer. */
  resolve(answer: unknown): void {
    const answers = this.#runs.length === 1 ? [answer] : answer;
    if (!Array.isArray(answers) || answers.length !== this.#runs.length) {
      this.reject(notUnderstood());
      return;
    }
    for (const [at, { resolve, reject }] of this.#runs.entries()) {
      const own: unknown = answers[at];
      if (own instanceof Error) reject(this.#health.failed({ breaker: this.breaker, waiting: 1 }, own));
      else resolve(own);
    }
  }

  reject(error: unknown): void {
    for (const { reject } of this.#runs) reject(error);
  }
}
