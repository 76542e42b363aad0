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
  /** What ends the waits for answers, by the numbers of their questions. */
  readonly #waiting = new Map<number, (answer?: Answer) => void>();
  #askedCount = 0;
  #reloads = 0;
  #isRelieved = false;
  #isDraining = false;

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

  /** It has been given another configuration, and does not serve by it yet. */
  get isReloading(): boolean {
    return this.#reloads > 0;
  }

  /** It has been told to finish what it has in flight. */
  get isDraining(): boolean {
    return this.#isDraining;
  }

  /** By this process. */
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

  /** Passes the answer on as it comes. Resolves then, or once its time is over or the worker has left. */
  ask<About extends keyof Answers>(
    about: About,
    patienceMs: number,
    heard: (answer: Answers[About]) => void,
  ): Promise<void> {
    const pass = (answer: Answer): void => heard(answer as Answers[About]);
    return this.#give((id) => ({ kind: 'ask', id, about }), patienceMs, pass);
  }

  /** Resolves when it serves by it, or has left: one that hangs is killed. */
  async reload(config: HandedConfig): Promise<void> {
    this.#reloads += 1;
    await this.#give((id) => ({ kind: 'reload', id, config }));
    this.#reloads -= 1;
  }

  async #give(
    order: (id: number) => Order,
    patienceMs?: number,
    heard?: (answer: Answer) => void,
  ): Promise<void> {
    const id = (this.#askedCount += 1);
    const { promise, resolve } = Promise.withResolvers<void>();
    function end(answer?: Answer): void {
      if (answer !== undefined) heard?.(answer);
      resolve();
    }
    // If this process was held up, all answers may lie there unread.
    const stopWaiting = patienceMs === undefined ? undefined : afterReading(patienceMs, end);
    this.#waiting.set(id, end);
    this.send(order(id));
    await promise;
    stopWaiting?.();
    this.#waiting.delete(id);
  }

  markReady(): void {
    this.#readyAt = performance.now();
    this.#silentRounds = 0;
    this.#logger.debug({ pid: this.pid }, 'a worker is ready');
  }

  /**
   * It has answered, which shows that it lives. Nobody waits for an answer that comes too late. One is passed on at once: what the
   * worker said next may have been read together with it, and would else be heard first.
   */
  hear(id: number, answer: Answer): void {
    if (this.#silentRounds >= toldRounds) this.#logger.info({ pid: this.pid }, 'a worker answers again');
    this.#silentRounds = 0;
    this.#waiting.get(id)?.(answer);
  }

  /** It has left, and answers no more. */
  leave(): void {
    for (const end of this.#waiting.values()) end();
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
   * one that is still starting may already accept connections, and begins to drain when it is ready. Told again, it goes on.
   */
  async drain(): Promise<void> {
    this.#isDraining = true;
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
