import type { UpstreamConfig } from '../config/config.ts';
import { type BufferedLane, createBufferedLane } from './buffered/buffered-lane.ts';
import { type Connector, createConnector, createTrust, type Trust } from './connect.ts';
import type { ExchangeFailed, ExchangeListener } from './exchange.ts';
import { ResponseTimeout } from './failures.ts';
import { HealthWatch } from './health-watch.ts';
import { Notice } from './notice.ts';
import { Seats } from './seats.ts';
import { createStreamedLane, type StreamedLane } from './streamed/streamed-lane.ts';

export interface TargetEvents {
  /** A target could not be reached, or answers nothing. Reported once until it is used again, and not too often. */
  readonly setAside: (upstream: string, target: string, cause: Error) => void;
  /** A target whose absence was reported has answered. */
  readonly usedAgain: (upstream: string, target: string) => void;
  /** A health check says that a target is not healthy. Told as an absence is. */
  readonly unhealthy: (upstream: string, target: string, cause: Error) => void;
  /** A target that was told not to be healthy is. */
  readonly healthyAgain: (upstream: string, target: string) => void;
}

/** What the last health check found of a target. */
export interface TargetHealth {
  readonly target: string;
  /** Undefined when it is healthy. */
  readonly fault: Error | undefined;
}

/** The targets of an upstream, which take turns. */
interface Targets {
  readonly all: readonly Target[];
  /** Never one of `unreached` while there are others, and one that is not healthy only if no other can be used. */
  next(unreached?: ReadonlySet<Target>): Target;
  /** Of each target; nothing where nobody asks. */
  health(): readonly TargetHealth[];
  close(): void;
}

export function createTargets(config: UpstreamConfig, events: TargetEvents): Targets {
  const trust = createTrust(config.ca);
  const all = config.targets.map((origin) => new Target(origin, { config, trust, events, whenJudged }));
  let healthy: readonly Target[] = all;
  let turn = 0;

  function next(unreached?: ReadonlySet<Target>): Target {
    turn += 1;
    const now = performance.now();
    const isLeft = (one: Target): boolean => !unreached?.has(one);
    const isReady = (one: Target): boolean => one.asideUntil <= now && isLeft(one);
    let best = leastBusy(healthy, isReady);
    // Then those that are not healthy are no worse than none: they may only lack what their health path asks for.
    if (best.length === 0) best = leastBusy(all, isReady);
    if (best.length === 0) {
      return all.filter(isLeft).reduce((first, one) => (one.asideUntil < first.asideUntil ? one : first));
    }
    // Only these take turns: what one that is passed over would have had falls to all of them, not to the one behind it.
    return best[turn % best.length] as Target;
  }

  function whenJudged({ fault, seats }: Target): void {
    healthy = all.filter((one) => one.fault === undefined);
    // What waits in line there is not sent yet, and another takes it.
    if (fault !== undefined && healthy.some((one) => !one.isAway)) seats.turnAway(fault);
  }

  const [only] = all;
  return {
    all,
    next: all.length === 1 ? () => only as Target : next,
    health: () =>
      config.health === undefined ? [] : all.map(({ url, fault }) => ({ target: url.origin, fault })),
    close() {
      for (const target of all) target.close();
    },
  };
}

/** Those of all that are ready which have the shortest line. It is one pass: each request asks, and there may be a thousand targets. */
function leastBusy(targets: readonly Target[], isReady: (one: Target) => boolean): readonly Target[] {
  let least = Infinity;
  let best: Target[] = [];
  for (const one of targets) {
    const { ahead } = one.seats;
    if (ahead > least || !isReady(one)) continue;
    if (ahead < least) best = [];
    least = ahead;
    best.push(one);
  }
  return best;
}

type Ending = Pick<ExchangeListener, 'resolve' | 'reject'>;

/** One request at one target. */
class Attempt implements ExchangeListener {
  readonly #target: Target;
  /** How many answers its target had begun before this, and how often it had been set aside. */
  readonly answersBefore: number;
  readonly absencesBefore: number;
  /** The target was set aside, and nobody else tries it meanwhile. */
  readonly isTrial: boolean;
  readonly #ending: Ending;

  constructor(target: Target, isTrial: boolean, ending: Ending) {
    this.#target = target;
    this.answersBefore = target.answers;
    this.absencesBefore = target.absences;
    this.isTrial = isTrial;
    this.#ending = ending;
  }

  connected(): void {
    if (this.isTrial) this.#target.noteConnection();
  }

  begin(): void {
    this.#target.noteAnswer(this);
  }

  resolve(): void {
    this.#ending.resolve();
  }

  /** The target is told first: the next in line for the seat that is now free should not try a silent target. */
  reject(failure: ExchangeFailed): void {
    this.#target.noteFailure(this, failure);
    this.#ending.reject(failure);
  }
}

interface TargetParts {
  readonly config: UpstreamConfig;
  readonly trust: Trust;
  readonly events: TargetEvents;
  /** Called after each check of its health. */
  readonly whenJudged: (target: Target) => void;
}

/** One server, and the two ways to it. */
export class Target {
  readonly url: URL;
  readonly connect: Connector;
  /** The connections that both ways share. */
  readonly seats: Seats;
  readonly buffered: BufferedLane;
  readonly streamed: StreamedLane;
  readonly #parts: TargetParts;
  /** `in use` again with the first answer to a request that began after it was set aside. `reached`: it can be connected to again. */
  #state: 'in use' | 'not reached' | 'reached' | 'silent' = 'in use';
  #asideUntil = 0;
  #answers = 0;
  #absences = 0;
  readonly #absence = new Notice();
  readonly #watch: HealthWatch | undefined;
  #fault: Error | undefined;
  readonly #illness = new Notice();

  constructor(origin: string, parts: TargetParts) {
    const { config, trust } = parts;
    this.#parts = parts;
    this.url = new URL(origin);
    this.connect = createConnector(this.url, config.timeouts.connectMs, trust);
    this.seats = new Seats(config.connections);
    this.buffered = createBufferedLane(this.connect, config.timeouts, this.seats);
    this.streamed = createStreamedLane(this.url, config, { seats: this.seats, trust });
    this.#watch = config.health && new HealthWatch(this, config.health, (fault) => this.#noteHealth(fault));
    this.#watch?.begin();
  }

  /** How many answers have begun. */
  get answers(): number {
    return this.#answers;
  }

  /** How often it was set aside. */
  get absences(): number {
    return this.#absences;
  }

  /** Others are preferred until then. */
  get asideUntil(): number {
    return this.#asideUntil;
  }

  /** What a health check found wrong with it. */
  get fault(): Error | undefined {
    return this.#fault;
  }

  get isAway(): boolean {
    return this.#state !== 'in use';
  }

  /** Keeps no connections any more, and is not checked. */
  close(): void {
    this.#watch?.stop();
    this.buffered.close();
    this.streamed.close();
  }

  /**
   * A target that was set aside is tried by one request, and by no other while that one may still get what was missing: a connection,
   * or an answer from a silent target.
   */
  attempt(ending: Ending): ExchangeListener {
    const { connectMs, responseMs } = this.#parts.config.timeouts;
    const isTrial = this.#state === 'not reached' || this.#state === 'silent';
    const trialMs = connectMs + (this.#state === 'silent' ? responseMs : 0);
    if (isTrial) this.#asideUntil = performance.now() + trialMs + asideMs;
    return new Attempt(this, isTrial, ending);
  }

  setAside(cause: Error, state: 'not reached' | 'silent' = 'not reached'): void {
    const { config, events } = this.#parts;
    this.#state = state;
    this.#absences += 1;
    // Not before a trial under way has ended: a request that began earlier may fail late.
    this.#asideUntil = Math.max(this.#asideUntil, performance.now() + asideMs);
    // Another target may take them at once.
    if (config.targets.length > 1) this.seats.turnAway(cause);
    this.#absence.begin(() => events.setAside(config.name, this.url.origin, cause));
  }

  /** A trial has a connection. It may take long to be answered, and the others need not wait for that. */
  noteConnection(): void {
    if (this.#state !== 'not reached') return;
    this.#state = 'reached';
    this.#asideUntil = 0;
  }

  /**
   * An answer has begun. If its request began before the target was set aside, it says nothing about the target now; that of a
   * trial lets the next request try.
   */
  noteAnswer({ isTrial, absencesBefore }: Attempt): void {
    this.#answers += 1;
    if (isTrial) this.#asideUntil = 0;
    if (this.#state === 'in use' || absencesBefore !== this.#absences) return;
    this.#state = 'in use';
    this.#asideUntil = 0;
    const { config, events } = this.#parts;
    this.#absence.end(() => events.usedAgain(config.name, this.url.origin));
  }

  /**
   * A request that waited in vain for its answer shows that the target is silent, if no other had one meanwhile. An only target
   * stays in use. A trial that fails in any other way lets the next request try.
   */
  noteFailure({ isTrial, answersBefore }: Attempt, { sent, cause }: ExchangeFailed): void {
    if (isTrial) this.#asideUntil = 0;
    const inVain = sent && cause instanceof ResponseTimeout && answersBefore === this.#answers;
    if (inVain && this.#parts.config.targets.length > 1) this.setAside(cause, 'silent');
  }

  #noteHealth(fault: Error | undefined): void {
    const { config, events, whenJudged } = this.#parts;
    const { origin } = this.url;
    this.#fault = fault;
    if (fault === undefined) this.#illness.end(() => events.healthyAgain(config.name, origin));
    else this.#illness.begin(() => events.unhealthy(config.name, origin, fault));
    whenJudged(this);
  }
}

const asideMs = 2000;
