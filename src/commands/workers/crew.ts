import type { Worker } from 'node:cluster';
import type { Address } from '../../config/config.ts';
import type { HandedConfig } from '../../config/hand-over.ts';
import { describeCause, type Logger } from '../../telemetry/log.ts';
import type { MergedMetrics } from '../../telemetry/merged-metrics.ts';
import { within } from '../../waiting/patience.ts';
import { Turns } from '../../waiting/turns.ts';
import type { Reloaded } from '../served.ts';
import { Backoff } from './backoff.ts';
import { Member, tooSlow } from './member.ts';
import { CannotStart, wasAsked, type WorkerEnd } from './worker-end.ts';
import type { Answers, Beginning, Report, Ready } from './worker-messages.ts';

interface CrewOptions {
  readonly count: number;
  /** How many start at the same time. Sixteen that share two processors would leave callers without anybody for eight times as long. */
  readonly startsAtOnce: number;
  readonly logger: Logger;
  readonly fork: () => Worker;
  /** Resolves when all is to stop: then a start waits for nobody but its first worker. */
  readonly stopAsked: Promise<unknown>;
  /** How long it waits for that one then. */
  readonly stopPatienceMs: number;
  /** Given what a worker that ends in good order has counted; told of each end once all that the worker said has been heard. */
  readonly metrics: Pick<MergedMetrics, 'note' | 'retire'>;
  /** Told of one that ended though nobody had asked it to, while the gateway goes on. */
  readonly onDied: () => void;
}

/** A worker that lived this long did not fail to start: the next one comes at once. */
const steadyMs = 10_000;
/** Longer than a worker takes to report its readiness, and shorter than the wait of those who ask about all of them. */
const answerPatienceMs = 700;

/** A worker that is killed ends well within this, however much memory the system has to take back. */
const deathPatienceMs = 2000;

/** A supervisor that tells a whole group to stop tells this process, too, within this time. */
const groupMs = 200;

/** How long the next worker waits at most while one reads a configuration. */
const reloadTurnMs = 2000;

/** The workers: as many as asked for, each replaced when it ends, until they are drained. */
export class Crew {
  readonly #options: CrewOptions;
  readonly #members = new Set<Member>();
  readonly #starts: Turns;
  #beginning: Beginning | undefined;
  /** Waits for longer and longer while workers end soon after their start, or before it. */
  readonly #backoff = new Backoff();
  #state: 'starting' | 'running' | 'ending' = 'starting';

  constructor(options: CrewOptions) {
    this.#options = options;
    this.#starts = new Turns(options.startsAtOnce);
  }

  /**
   * Starts them all. What keeps the first from starting would keep all of them, so then this rejects with its exit code. Once it
   * has started, each that ends is replaced, whether it had started or not.
   */
  async start(beginning: Beginning): Promise<Address> {
    this.#beginning = beginning;
    const { count, stopAsked, stopPatienceMs } = this.#options;
    void stopAsked.then(() => setTimeout(() => this.#endStart(), stopPatienceMs).unref());
    const { listen, storeIdentity } = await this.#startOne();
    this.#beginning = { ...beginning, storeIdentity };
    this.#state = 'running';
    const others = Promise.all(Array.from({ length: count - 1 }, () => this.#add()));
    await Promise.race([others, stopAsked]);
    return listen;
  }

  #endStart(): void {
    if (this.#state !== 'starting') return;
    for (const member of this.#members) member.kill(tooSlow);
  }

  /**
   * Asks every worker that is ready, those that drain included, and passes on each answer as it comes: a moment later its worker may
   * have ended. Resolves when all have answered, or have had the time to. Whether it is ready is asked of none that drains.
   */
  async ask<About extends keyof Answers>(
    about: About,
    heard: (answer: Answers[About], pid: number) => void,
  ): Promise<void> {
    const ready =
      about === 'readiness' ? this.#serving() : [...this.#members].filter(({ isReady }) => isReady);
    await Promise.all(
      ready.map((member) => member.ask(about, answerPatienceMs, (answer) => heard(answer, member.pid))),
    );
  }

  /**
   * Has all workers, those to come included, serve by another configuration. Each is deaf while it reads it, so they do so in turn,
   * without waiting long for a slow one. Resolves when each has had its turn: with one that hangs another reload can follow.
   */
  async reload(config: HandedConfig): Promise<Reloaded> {
    if (this.#beginning !== undefined) this.#beginning = { ...this.#beginning, config };
    const reloads: Promise<unknown>[] = [];
    for (const member of this.#members) {
      if (member.beganWith === undefined || member.beganWith === config) continue;
      const reloaded = member.reload(config);
      reloads.push(reloaded);
      await within(reloadTurnMs, reloaded);
    }
    return { everywhere: Promise.all(reloads) };
  }

  /**
   * Has one of them tell which keys are in both the file and the store: the youngest, as others relieve the oldest first, but none that
   * has yet to take a reload, as it may hang.
   */
  tellKeysInBoth(): void {
    this.#serving()
      .findLast(({ isReloading }) => !isReloading)
      ?.send({ kind: 'tellKeysInBoth' });
  }

  /**
   * Begins a round: what is asked next should have an answer before the next round. A worker that hangs would go on being dealt
   * connections that nobody takes, so it does not stay.
   */
  beginRound(): void {
    if (this.#state === 'ending') return;
    for (const member of this.#members) member.missRound();
  }

  /**
   * Lets every worker finish what it has in flight, and resolves when all have ended; after `patienceMs` they are killed. One that
   * SIGKILL does not end, because it waits in the kernel for a disk that does not answer, is left behind.
   */
  async drain(patienceMs: number): Promise<void> {
    this.#state = 'ending';
    const killing = setTimeout(() => {
      for (const member of this.#members) member.kill('a worker has not finished in time and is killed');
    }, patienceMs);
    const drained = Promise.all([...this.#members].map((member) => member.drain()));
    await within(patienceMs + deathPatienceMs, drained);
    clearTimeout(killing);
    for (const { pid } of this.#members)
      this.#options.logger.error({ pid }, 'a worker that was killed has not ended and is left behind');
  }

  /** Ends them at once, whatever they are doing. */
  kill(): void {
    for (const member of this.#members) member.kill();
  }

  /** Starts one, and resolves when it is ready. */
  #startOne(): Promise<Ready> {
    const { fork, metrics, logger } = this.#options;
    return new Promise((resolve, reject) => {
      const worker = fork();
      const { pid } = worker.process;
      if (pid === undefined) {
        worker.once('error', reject);
        return;
      }
      const member = new Member(worker, pid, logger);
      this.#members.add(member);
      worker.on('error', () => undefined); // a message to a worker that is gone; its exit says the rest
      worker.on('message', (report: Report) => {
        if (report.kind === 'awake' && this.#beginning !== undefined) member.begin(this.#beginning);
        if (report.kind === 'leaving') setTimeout(() => this.#relieve(member), groupMs);
        if (report.kind === 'farewell') metrics.note(member.pid, report.counts);
        if (report.kind === 'answer') member.hear(report.id, report.answer);
        if (report.kind !== 'ready') return;
        member.markReady();
        resolve(report);
      });
      // Not 'exit', after which there may still be something to hear.
      worker.process.once('close', (code: number | null, signal: string | null) => {
        const end = { code, signal };
        this.#leave(member, end);
        reject(new CannotStart(end, member.wasKilled));
      });
    });
  }

  /** The oldest first. */
  #serving(): readonly Member[] {
    return [...this.#members].filter(({ isReady, isDraining }) => isReady && !isDraining);
  }

  /** All may be asked to leave at once: they serve until others have come in their places. */
  #relieve(member: Member): void {
    if (this.#state !== 'running' || !this.#members.has(member)) return;
    member.relieve();
    void this.#replace();
  }

  /** As many as have come for them, the oldest first: others may be asked to leave before all have come. */
  #letRelievedGo(): void {
    const serving = this.#serving();
    const spare = Math.max(0, serving.length - this.#options.count);
    for (const member of serving.filter(({ isRelieved }) => isRelieved).slice(0, spare)) void member.drain();
  }

  #leave(member: Member, end: WorkerEnd): void {
    if (this.#isSteady()) this.#backoff.forget();
    this.#members.delete(member);
    member.leave();
    const { metrics, logger } = this.#options;
    metrics.retire(member.pid);
    if (this.#state === 'running') this.#replaceEnded(member, end);
    // What it had in flight is lost, and the units of quotas that it held in advance stay counted.
    else if (this.#state === 'ending' && !wasAsked(end) && !member.wasKilled)
      logger.error({ pid: member.pid, ...end }, 'a worker ended before it had finished');
  }

  #replaceEnded(member: Member, end: WorkerEnd): void {
    const livedMs = member.readyMs;
    const asked = wasAsked(end);
    if (!asked) this.#options.onDied();
    const afterMs = member.isRelieved ? undefined : this.#replaceLater(!asked && livedMs < steadyMs);
    this.#options.logger[asked ? 'info' : 'error'](
      { pid: member.pid, ...end, livedMs: Math.round(livedMs), afterMs },
      member.isRelieved ? 'a worker ended' : 'a worker ended, another takes its place',
    );
  }

  /** All places are taken, and have been for a while. */
  #isSteady(): boolean {
    const members = [...this.#members];
    return members.length === this.#options.count && members.every(({ readyMs }) => readyMs >= steadyMs);
  }

  /** Has another worker take the place, later and later while one after another fails. Returns after how long. */
  #replaceLater(failed: boolean): number {
    const replace = (): void => void this.#replace();
    if (failed) return this.#backoff.retry(replace);
    setTimeout(replace, 0);
    return 0;
  }

  async #replace(): Promise<void> {
    if (await this.#add()) this.#options.logger.info('a worker has taken the place');
  }

  /** Starts one more in its turn, and resolves with whether it became ready. If not, the next attempt is under way, or all is to end. */
  #add(): Promise<boolean> {
    return this.#starts.run(async () => {
      if (this.#state !== 'running') return false;
      try {
        await this.#startOne();
        this.#letRelievedGo();
        return true;
      } catch (error) {
        // The end of a process has been logged already, and another is taking its place.
        if (error instanceof CannotStart) return false;
        const about = { cause: describeCause(error), afterMs: this.#replaceLater(true) };
        this.#options.logger.error(about, 'no process can be made for a worker');
        return false;
      }
    });
  }
}
