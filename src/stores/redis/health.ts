import type { Cluster } from 'ioredis';
import { StoreUnavailable } from '../store-unavailable.ts';
import type { Client } from './client/client.ts';
import { judgeFailure, saysThatNothingCame, tellsNoReason, type Reason } from './failures.ts';
import { slotOf } from './names.ts';

/** How many failures in a row open a breaker, and how long it then waits before each further try. */
const failuresMax = 5;
const coolMs = 200;

/** Stops asking a Redis that keeps failing, so that requests are answered at once instead of at the deadline. */
export class Breaker {
  #failures = 0;
  #triedAt = 0;

  /** True when a call may be made. While open, one call may try every `coolMs`. */
  admits(): boolean {
    if (this.#failures < failuresMax) return true;
    const now = performance.now();
    if (now - this.#triedAt < coolMs) return false;
    this.#triedAt = now;
    return true;
  }

  succeeded(): void {
    this.#failures = 0;
  }

  /** A call that several waited for counts once for each of them. */
  failed(calls: number): void {
    this.#failures += calls;
    this.#triedAt = performance.now();
  }
}

/** When no other reason is known. */
const closedByRedis: Reason = { message: 'Redis closed the connection', isTemporary: true };

/** A question to Redis that has not been answered yet. */
export interface Call<Answer = never> {
  /** Undefined for calls that bypass it. */
  readonly breaker: Breaker | undefined;
  /** How many wait for it. */
  readonly waiting: number;
  readonly resolve: (answer: Answer) => void;
  readonly reject: (error: unknown) => void;
}

type Asked = Pick<Call, 'breaker' | 'waiting'>;

/** Whether Redis can be asked, and if not, why: judged by how earlier calls went, and by what the client says. */
export class Health {
  readonly #client: Client;
  /** By node: of a cluster some may be ill and others well. */
  readonly #breakers = new Map<string, Breaker>();
  #lastFailure: Reason;
  /** Why there is no connection, if there is none: what has failed since the last sign of health. */
  #whyAway: Reason;
  #refreshedAt = -Infinity;

  /** `where` names the servers, as people read them. */
  constructor(client: Client, where: string) {
    this.#client = client;
    // If a server takes a connection and says nothing, the client says nothing either until its patience ends.
    const silence: Reason = { message: `${where} does not answer`, isTemporary: true };
    this.#lastFailure = this.#whyAway = silence;
    // Without a listener ioredis prints errors, and with them what they carry.
    client.on('error', (error: unknown) => {
      if (saysThatNothingCame(error)) this.#noteReason(silence);
      else if (!tellsNoReason(error)) this.#noteReason(judgeFailure(error, this.#whyAway).error);
    });
    client.on('loading', () => this.#noteReason({ message: 'Redis is loading its data', isTemporary: true }));
    client.on('ready', () => {
      this.#whyAway = closedByRedis;
      for (const breaker of this.#breakers.values()) breaker.succeeded();
    });
  }

  breakerOf(key: string): Breaker {
    return this.#breakers.getOrInsertComputed(this.#nodeOf(key), () => new Breaker());
  }

  /** The node that is asked for a key, as far as the client knows. */
  #nodeOf(key: string): string {
    if (!this.#client.isCluster) return '';
    return (this.#client as Cluster).slots[slotOf(key)]?.[0] ?? '';
  }

  /** Undefined when it may be asked. */
  whyNotAsk(breaker: Breaker | undefined): StoreUnavailable | undefined {
    if (this.#client.status !== 'ready') return notAsked('Redis is not connected', this.#whyAway);
    return breaker?.admits() === false
      ? notAsked('Redis is not asked for a moment', this.#lastFailure)
      : undefined;
  }

  answered({ breaker }: Asked): void {
    breaker?.succeeded();
    this.#whyAway = closedByRedis;
  }

  /** No answer came in time. */
  wasSilent({ breaker, waiting }: Asked, deadlineMs: number): StoreUnavailable {
    const message = `Redis did not answer within ${deadlineMs} ms`;
    const error = new StoreUnavailable(message, { mayHaveHappened: true, isTemporary: true });
    this.#noteFailure(error);
    breaker?.failed(waiting);
    return error;
  }

  /** What a failure means for the caller. */
  failed({ breaker, waiting }: Asked, thrown: unknown): StoreUnavailable {
    const { error, general, answered } = judgeFailure(thrown, this.#whyAway);
    if (general) this.#noteFailure(tellsNoReason(thrown) ? this.#whyAway : error);
    // A refusal takes no longer than any answer. To stop asking would keep from others what Redis still gives them: out
    // of memory, that is keys.
    if (answered) breaker?.succeeded();
    else breaker?.failed(waiting);
    return error;
  }

  /** Not the error itself, which has the caller's stack. */
  #noteReason({ message, isTemporary }: Reason): void {
    this.#lastFailure = this.#whyAway = { message, isTemporary };
  }

  #noteFailure(reason: Reason): void {
    this.#noteReason(reason);
    const now = performance.now();
    if (!this.#client.isCluster || now - this.#refreshedAt < coolMs) return;
    this.#refreshedAt = now;
    // The node may have been replaced: the others are asked who serves its slots now. After a failover this is 0.3 to 1 s sooner
    // than by the interval of tend-nodes.ts alone. Each time it is a connection of its own.
    (this.#client as Cluster).refreshSlotsCache();
  }
}

function notAsked(what: string, { message, isTemporary }: Reason): StoreUnavailable {
  return new StoreUnavailable(`${what}: ${message}`, { mayHaveHappened: false, isTemporary });
}
