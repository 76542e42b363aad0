import type { Worker } from 'node:cluster';
import type { HandedConfig } from '../../config/hand-over.ts';
import type { Logger } from '../../telemetry/log.ts';
import { afterReading } from '../../waiting/when-all-is-read.ts';
import type { Answer, Answers, Beginning, Order } from './worker-messages.ts';

/**
 * A silent worker is reported after the first number of rounds and killed after the second, 30 s, longer than any honest pause.
 * Rounds are counted, not time: while a machine sleeps there are none.
 */
const toldRounds = 3;
const killedRounds = 16;
/** One that does not become ready is killed after a minute: a start takes seconds, on a slow disk or processor some more. */
const startRounds = 30;
/** During a drain it is killed sooner: a worker becomes ready milliseconds after it opens its first socket. */
const drainedStartMs = 2000;
export const tooSlow = 'a worker takes too long to start and is killed';

/** One worker of the crew. */
export class Member {
  readonly pid: number;
  readonly #worker: Worker;
  readonly #logger: Logger;
  #readyAt: number | undefined;
  #beganWith: HandedConfig | undefined;
  #wasKilled = false;
  /** Rounds since it last answered anything, or began to start. */
  #silentRounds = 0;
  #drained: Promise<void> | undefined;
  /** The answers that are waited for, by the numbers of their questions. */
  readonly #waiting = new Map<number, PromiseWithResolvers<Answer | undefined>>();
  #askedCount = 0;
  #isRelieved = false;

  constructor(worker: Worker, pid: number, logger: Logger) {
    this.#worker = worker;
    this.pid = pid;
    this.#logger = logger;
  }

  get isReady(): boolean {
    return this.#readyAt !== undefined;
  }

  /** How long it has been ready. */
  get readyMs(): number {
    return this.#readyAt === undefined ? 0 : performance.now() - this.#readyAt;
  }

  /** The configuration of its start; undefined until it listens. */
  get beganWith(): HandedConfig | undefined {
    return this.#beganWith;
  }

  /** Another takes its place, and it serves until that one has come. */
  get isRelieved(): boolean {
    return this.#isRelieved;
  }

  /** It has been told to finish what it has in flight. */
  get isDraining(): boolean {
    return this.#drained !== undefined;
  }

  /** By us, that is. */
  get wasKilled(): boolean {
    return this.#wasKilled;
  }

  /** A worker that is ending may be deaf already, which it tells as an error: its exit will say the rest. */
  send(order: Order): void {
    this.#worker.send(order);
  }

  begin(beginning: Beginning): void {
    this.#beganWith = beginning.config;
    this.send({ kind: 'begin', beginning });
  }

  /** Resolves with the answer, or with nothing once its time is over or the worker has left. */
  async ask<About extends keyof Answers>(
    about: About,
    patienceMs: number,
  ): Promise<Answers[About] | undefined> {
    const answer = await this.#answerTo((id) => ({ kind: 'ask', id, about }), patienceMs);
    return answer as Answers[About] | undefined;
  }

  /** Resolves when it serves by it, or has left: one that hangs is killed. */
  async reload(config: HandedConfig): Promise<void> {
    await this.#answerTo((id) => ({ kind: 'reload', id, config }));
  }

  async #answerTo(order: (id: number) => Order, patienceMs?: number): Promise<Answer | undefined> {
    const id = (this.#askedCount += 1);
    const answer = Promise.withResolvers<Answer | undefined>();
    // If this process was held up, all answers may lie there unread.
    if (patienceMs !== undefined) afterReading(patienceMs, () => answer.resolve(undefined));
    this.#waiting.set(id, answer);
    this.send(order(id));
    return await answer.promise.finally(() => this.#waiting.delete(id));
  }

  markReady(): void {
    this.#readyAt = performance.now();
    this.#silentRounds = 0;
    this.#logger.debug({ pid: this.pid }, 'a worker is ready');
  }

  /** It has answered, which shows that it lives. Nobody waits for an answer that comes too late. */
  hear(id: number, answer: Answer): void {
    if (this.#silentRounds >= toldRounds) this.#logger.info({ pid: this.pid }, 'a worker answers again');
    this.#silentRounds = 0;
    this.#waiting.get(id)?.resolve(answer);
  }

  /** It has left, and answers no more. */
  leave(): void {
    for (const answer of this.#waiting.values()) answer.resolve(undefined);
  }

  relieve(): void {
    this.#isRelieved = true;
    this.#logger.info({ pid: this.pid }, 'a worker was asked to stop, another takes its place');
  }

  /** A round begins, and counts as missed until something is heard. */
  missRound(): void {
    this.#silentRounds += 1;
    if (!this.isReady) {
      if (this.#silentRounds === startRounds) this.kill(tooSlow);
      return;
    }
    if (this.#silentRounds === toldRounds) this.#logger.error({ pid: this.pid }, 'a worker does not answer');
    if (this.#silentRounds === killedRounds)
      this.kill('a worker has not answered for too long and is killed');
  }

  /**
   * Lets it finish what it has in flight, and resolves when it has ended. One without a configuration serves nothing and is killed;
   * one that is still starting may already accept connections, and begins to drain when it is ready.
   */
  drain(): Promise<void> {
    this.#drained ??= this.#drain();
    return this.#drained;
  }

  async #drain(): Promise<void> {
    const closed = new Promise((resolve) => this.#worker.process.once('close', resolve));
    if (this.#beganWith === undefined) this.kill();
    else this.send({ kind: 'drain' });
    const timer = setTimeout(() => {
      if (!this.isReady && !this.#wasKilled) this.kill(tooSlow);
    }, drainedStartMs);
    await closed;
    clearTimeout(timer);
  }

  /** Ends it at once, whatever it is doing. The log says why, unless we were asked to. */
  kill(why?: string): void {
    if (why !== undefined) this.#logger.error({ pid: this.pid }, why);
    this.#wasKilled = true;
    this.#worker.process.kill('SIGKILL');
  }
}
