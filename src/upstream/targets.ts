import type { UpstreamConfig } from '../config/config.ts';
import { type BufferedLane, createBufferedLane } from './buffered/buffered-lane.ts';
import { type Connector, createConnector, createTrust, type Trust } from './connect.ts';
import { Seats } from './seats.ts';
import { createStreamedLane, type StreamedLane } from './streamed/streamed-lane.ts';

/** What is told when a target goes away and comes back. */
export interface TargetEvents {
  /** A target could not be reached, or answers nothing. Told once, until it is used again, and with a rest in between. */
  readonly setAside: (upstream: string, target: string, cause: Error) => void;
  /** A target that was told of gave an answer. */
  readonly usedAgain: (upstream: string, target: string) => void;
}

/** Those that an upstream has, which take turns. */
export interface Targets {
  readonly all: readonly Target[];
  /** None that was not reached already, as long as there are others. */
  next(unreached: ReadonlySet<Target>): Target;
}

export function createTargets(config: UpstreamConfig, events: TargetEvents): Targets {
  const trust = createTrust(config.ca);
  const all = config.targets.map((origin) => new Target(origin, { config, trust, events }));
  let turn = 0;

  function next(unreached: ReadonlySet<Target>): Target {
    turn = (turn + 1) % all.length;
    const now = performance.now();
    const inTurn = [...all.slice(turn), ...all.slice(0, turn)].filter((one) => !unreached.has(one));
    const ready = inTurn.filter((one) => one.isReady(now));
    const chosen =
      ready.length > 0
        ? ready.reduce((best, one) => (one.seats.ahead < best.seats.ahead ? one : best))
        : (inTurn.toSorted((a, b) => a.asideUntil - b.asideUntil)[0] as Target);
    chosen.noteTry(now);
    return chosen;
  }

  const [only] = all;
  return { all, next: all.length === 1 ? () => only as Target : next };
}

interface TargetParts {
  readonly config: UpstreamConfig;
  readonly trust: Trust;
  readonly events: TargetEvents;
}

/** One server, and the two ways to it. */
export class Target {
  readonly url: URL;
  readonly connect: Connector;
  /** Of both ways. */
  readonly seats: Seats;
  readonly buffered: BufferedLane;
  readonly streamed: StreamedLane;
  readonly #parts: TargetParts;
  /** How many have begun. */
  #answers = 0;
  #asideUntil = 0;
  /** From the first failure to the next answer. */
  #isAway = false;
  /** That it is away. */
  #isTold = false;
  #toldAt = Number.NEGATIVE_INFINITY;

  constructor(origin: string, parts: TargetParts) {
    const { config, trust } = parts;
    this.#parts = parts;
    this.url = new URL(origin);
    this.connect = createConnector(this.url, config.timeouts.connectMs, trust);
    this.seats = new Seats(config.connections);
    this.buffered = createBufferedLane(this.connect, config.timeouts, this.seats);
    this.streamed = createStreamedLane(this.url, config, { seats: this.seats, trust });
  }

  get answers(): number {
    return this.#answers;
  }

  get isAway(): boolean {
    return this.#isAway;
  }

  /** Others are preferred until then. */
  get asideUntil(): number {
    return this.#asideUntil;
  }

  isReady(now: number): boolean {
    return this.#asideUntil <= now;
  }

  /** Who tries one that was away is alone in that until it is answered, or a while has gone by: it may answer nothing again. */
  noteTry(now: number): void {
    if (this.#isAway) this.#asideUntil = now + trialMs;
  }

  setAside(cause: Error): void {
    const { config, events } = this.#parts;
    const now = performance.now();
    this.#asideUntil = now + asideMs;
    // Another target may have them at once.
    if (config.targets.length > 1) this.seats.turnAway(cause);
    this.#isAway = true;
    if (this.#isTold || now - this.#toldAt < quietMs) return;
    this.#isTold = true;
    this.#toldAt = now;
    events.setAside(config.name, this.url.origin, cause);
  }

  /** A request had no answer in its time. The target hangs if nobody had one since; the only one there is stays in use. */
  noteTimeout(cause: Error, answersBefore: number): void {
    if (this.#answers === answersBefore && this.#parts.config.targets.length > 1) this.setAside(cause);
  }

  /** An answer of it has begun. */
  readonly noteAnswer = (): void => {
    this.#answers += 1;
    if (!this.#isAway) return;
    this.#isAway = false;
    this.#asideUntil = 0;
    if (!this.#isTold) return;
    this.#isTold = false;
    this.#parts.events.usedAgain(this.#parts.config.name, this.url.origin);
  };
}

const asideMs = 2000;
const trialMs = 10_000;
/** A target that flickers must not fill the log. */
const quietMs = 5000;
