import type { Cluster } from 'ioredis';
import { systemClock } from '../../clock.ts';
import { turnsFor, WaitingRoom } from '../../waiting-room.ts';
import { StoreUnavailable } from '../ledger.ts';
import { createBreaker } from './breaker.ts';
import type { Breaker } from './breaker.ts';
import { sendTogether, type Client } from './client.ts';
import { asksToAskAgain, describeFailure, tellsNoReason } from './failures.ts';
import type { Script } from './scripts.ts';
import { slotOf } from './slot.ts';

/** The way to Redis: every call answers within the deadline or rejects with `StoreUnavailable`. */
export interface Link {
  /** Runs a script. The first key decides where. */
  run(script: Script, keys: readonly string[], args: readonly (string | number)[]): Promise<unknown>;
  /** Sends plain commands about one key. */
  send<T>(key: string, command: Command<T>): Promise<T>;
  /** Resolves when connected, or when a first attempt has failed; the connecting goes on either way. */
  ready(withinMs: number): Promise<void>;
  /** Asks Redis itself, past the breaker, for those who ask seldom and must know how it is now. */
  ask<T>(command: Command<T>): Promise<T>;
  close(): void;
}

/** A question to Redis that is not answered yet. */
interface Call {
  readonly breaker: Breaker | undefined;
  readonly reject: (error: unknown) => void;
}

/** Sends something; `waiting` tells whether anybody still waits for the answer. */
type Command<T> = (client: Client, waiting: () => boolean) => Promise<T>;

const FAILURES_MAX = 5;
const COOL_MS = 200;
/** In a cluster some nodes may be ill and others well, and neighbouring slots mostly live on one node. */
const BREAKERS_IN_CLUSTER = 16;
const SLOTS = 16_384;

/** When nothing else is known of the reason. */
const CLOSED = 'Redis closed the connection';

export interface LinkOptions {
  readonly deadlineMs: number;
  /** The servers, as people read them. */
  readonly where: string;
}

/** Puts a deadline and a breaker in front of a client. */
export function createLink(client: Client, { deadlineMs, where }: LinkOptions): Link {
  const options = { failuresMax: FAILURES_MAX, coolMs: COOL_MS, clock: () => performance.now() };
  const breakers = Array.from({ length: client.isCluster ? BREAKERS_IN_CLUSTER : 1 }, () =>
    createBreaker(options),
  );
  // Of a server that takes a connection and says nothing, the client tells nothing either until its patience ends.
  let lastFailure = `${where} does not answer`;
  /** Why there is no connection, if there is none: what has failed since the last sign of health. */
  let whyAway = lastFailure;
  let refreshedAt = -Infinity;

  // Without a listener ioredis prints errors, and with them what they carry.
  client.on('error', (error: unknown) => {
    if (!tellsNoReason(error)) whyAway = lastFailure = describeFailure(error, whyAway).error.message;
  });
  client.on('loading', () => {
    whyAway = lastFailure = 'Redis is loading its data';
  });
  client.on('ready', () => {
    whyAway = CLOSED;
    for (const breaker of breakers) breaker.succeeded();
  });

  function breakerOf(key: string): Breaker | undefined {
    return breakers.length === 1
      ? breakers[0]
      : breakers[Math.floor((slotOf(key) * breakers.length) / SLOTS)];
  }

  function send<T>(key: string, command: Command<T>): Promise<T> {
    if (client.status !== 'ready') return refuse(`Redis is not connected: ${whyAway}`);
    const breaker = breakerOf(key);
    if (breaker?.admits() === false) return refuse(`Redis is not asked for a moment: ${lastFailure}`);
    return answerInTime(command, breaker);
  }

  // The deadline is ours: a command that hangs in a socket or in a queue of the client has none of its own. An answer that came in
  // time to a process that was held up is read first.
  const room = new WaitingRoom<Call>({
    clock: systemClock,
    waitMs: deadlineMs,
    turnsMore: turnsFor.call,
    turnOut: giveUp,
  });

  function giveUp({ breaker, reject }: Call): void {
    noteFailure(`Redis did not answer within ${deadlineMs} ms`);
    breaker?.failed();
    reject(new StoreUnavailable(lastFailure, { mayHaveHappened: true }));
  }

  function answerInTime<T>(command: Command<T>, breaker: Breaker | undefined): Promise<T> {
    return new Promise((resolve, reject) => {
      const spot = room.enter({ breaker, reject });
      sendTogether(client);
      try {
        void command(client, () => spot.isTaken).then(succeed, fail);
      } catch (thrown) {
        // What throws at once has failed as well.
        fail(thrown);
      }

      // An answer that comes late is no sign of health.
      function succeed(value: T): void {
        if (!spot.leave()) return;
        breaker?.succeeded();
        whyAway = CLOSED;
        resolve(value);
      }

      function fail(thrown: unknown): void {
        if (spot.leave()) reject(understand(thrown, breaker));
      }
    });
  }

  function understand(thrown: unknown, breaker: Breaker | undefined): StoreUnavailable {
    const { error, general, answered } = describeFailure(thrown, whyAway);
    if (general) noteFailure(tellsNoReason(thrown) ? whyAway : error.message);
    // A refusal takes no longer than any answer. Not to ask any more would keep from others what Redis gives them, as one
    // without memory does with keys.
    if (answered) breaker?.succeeded();
    else if (general) breaker?.failed();
    return error;
  }

  function noteFailure(message: string): void {
    whyAway = lastFailure = message;
    const now = performance.now();
    if (!client.isCluster || now - refreshedAt < COOL_MS) return;
    refreshedAt = now;
    // The node may have been replaced: ask the others who serves its slots now. It is a connection of its own each time.
    (client as Cluster).refreshSlotsCache();
  }

  return {
    send,
    run: (script, keys, args) => send(keys[0] ?? '', callOf(script, keys, args)),
    ready: (withinMs) => becomeReady(client, withinMs),
    ask: (command) =>
      client.status === 'ready'
        ? answerInTime(command, undefined)
        : refuse(`Redis is not connected: ${whyAway}`),
    close: () => client.disconnect(),
  };
}

/** The command that runs a script: by its SHA-1, and in full where Redis does not know that. */
export function callOf(
  script: Script,
  keys: readonly string[],
  args: readonly (string | number)[],
): Command<unknown> {
  const words = [...keys, ...args];
  return (client, waiting) =>
    client.evalsha(script.sha, keys.length, ...words).catch((thrown: unknown) => {
      if (!asksToAskAgain(thrown) || !waiting()) throw thrown;
      return client.eval(script.source, keys.length, ...words);
    });
}

function refuse(message: string): Promise<never> {
  return Promise.reject(new StoreUnavailable(message, { mayHaveHappened: false }));
}

async function becomeReady(client: Client, withinMs: number): Promise<void> {
  const latest = performance.now() + withinMs;
  await connected(client, withinMs);
  if (!client.isCluster) return;
  const masters = (client as Cluster).nodes('master');
  await Promise.all(masters.map((node) => connected(node, Math.max(1, latest - performance.now()))));
}

/** Resolves as well when a first attempt has failed, or when the time is over. */
function connected(client: Client, withinMs: number): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  if (client.status === 'ready') return Promise.resolve();
  const timer = setTimeout(settle, withinMs);
  // The first error tells all that there is to know for now: it is tried again in the background.
  client.once('ready', settle).once('error', settle);
  return promise;

  function settle(): void {
    clearTimeout(timer);
    resolve();
  }
}
