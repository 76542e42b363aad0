import type { Cluster } from 'ioredis';
import { systemClock } from '../../waiting/clock.ts';
import { turnsFor, WaitingRoom } from '../../waiting/waiting-room.ts';
import { StoreUnavailable } from '../ledger.ts';
import { createBreaker } from './breaker.ts';
import type { Breaker } from './breaker.ts';
import { sendAtOnce, sendTogether, type Client } from './client.ts';
import { callOf, type Command } from './command.ts';
import { describeFailure, tellsNoReason } from './failures.ts';
import { Runs } from './runs.ts';
import type { Script, SharedScript } from './scripts.ts';
import { slotOf } from './slot.ts';

/** The way to Redis: every call answers within the deadline or rejects with `StoreUnavailable`. */
export interface Link {
  /** Runs a script. The first key decides where. Those who ask for the same one in one turn of the event loop share calls. */
  run(
    script: Script | SharedScript,
    keys: readonly string[],
    args: readonly (string | number)[],
  ): Promise<unknown>;
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
  /** Those who wait for the answer, if there may be several. */
  readonly runs: Runs | undefined;
}

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

  function whyNotAsk(breaker: Breaker | undefined): string | undefined {
    if (client.status !== 'ready') return `Redis is not connected: ${whyAway}`;
    return breaker?.admits() === false ? `Redis is not asked for a moment: ${lastFailure}` : undefined;
  }

  function send<T>(command: Command<T>, breaker: Breaker | undefined): Promise<T> {
    const whyNot = whyNotAsk(breaker);
    return whyNot === undefined ? answerInTime(command, breaker) : refuse(whyNot);
  }

  /** Those who asked last in this turn, and how they are sent: before anything else is, and at its end. */
  let gathered: { readonly runs: Runs; readonly send: () => void } | undefined;

  function sendGathered(): void {
    const { send: sendThem } = gathered ?? {};
    gathered = undefined;
    sendThem?.();
  }

  /** In a cluster the keys of two may be in two places. Some look like one server from here. */
  let isOnePlace = !client.isCluster;

  function run(
    script: Script | SharedScript,
    keys: readonly string[],
    args: readonly (string | number)[],
  ): Promise<unknown> {
    const breaker = breakerOf(keys[0] ?? '');
    if (!isOnePlace || !('many' in script)) return send(callOf(script, keys, args), breaker);
    const whyNot = whyNotAsk(breaker);
    if (whyNot !== undefined) return refuse(whyNot);
    if (gathered?.runs.takes(script) !== true) {
      sendGathered();
      gathered = gather(script, breaker);
    }
    const answer = gathered.runs.join(keys, args);
    if (gathered.runs.isFull) {
      sendGathered();
      sendAtOnce(client);
    }
    return answer;
  }

  function noteCluster(): void {
    isOnePlace = false;
  }

  function gather(script: SharedScript, breaker: Breaker | undefined) {
    const runs = new Runs(script);
    const call = { breaker, runs, reject: (error: unknown) => runs.fail(error) };
    const ask = expect<unknown>(call, (answer) =>
      runs.answer(answer, (error) => understand(error, { ...call, runs: undefined })),
    );
    return { runs, send: () => ask(runs.compose(noteCluster)) };
  }

  // The deadline is ours: a command that hangs in a socket or in a queue of the client has none of its own. An answer that came in
  // time to a process that was held up is read first.
  const room = new WaitingRoom<Call>({
    clock: systemClock,
    waitMs: deadlineMs,
    turnsMore: turnsFor.call,
    turnOut: giveUp,
  });

  function giveUp(call: Call): void {
    noteFailure(`Redis did not answer within ${deadlineMs} ms`);
    noteFailed(call);
    call.reject(new StoreUnavailable(lastFailure, { mayHaveHappened: true }));
  }

  function noteFailed({ breaker, runs }: Call): void {
    breaker?.failed(runs?.size);
  }

  function answerInTime<T>(command: Command<T>, breaker: Breaker | undefined): Promise<T> {
    sendGathered();
    return new Promise((resolve, reject) => {
      expect({ breaker, reject, runs: undefined }, resolve)(command);
    });
  }

  /** Somebody waits for an answer from now on. What is returned sends the command, in this turn. */
  function expect<T>(call: Call, resolve: (answer: T) => void): (command: Command<T>) => void {
    const spot = room.enter(call);
    sendTogether(client, sendGathered);
    return (command) => {
      try {
        void command(client, () => spot.isTaken).then(succeed, fail);
      } catch (thrown) {
        // What throws at once has failed as well.
        fail(thrown);
      }
    };

    // An answer that comes late is no sign of health.
    function succeed(answer: T): void {
      if (!spot.leave()) return;
      call.breaker?.succeeded();
      whyAway = CLOSED;
      resolve(answer);
    }

    function fail(thrown: unknown): void {
      if (spot.leave()) call.reject(understand(thrown, call));
    }
  }

  function understand(thrown: unknown, call: Call): StoreUnavailable {
    const { error, general, answered } = describeFailure(thrown, whyAway);
    if (general) noteFailure(tellsNoReason(thrown) ? whyAway : error.message);
    // A refusal takes no longer than any answer. Not to ask any more would keep from others what Redis gives them, as one
    // without memory does with keys.
    if (answered) call.breaker?.succeeded();
    else if (general) noteFailed(call);
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
    send: (key, command) => send(command, breakerOf(key)),
    run,
    ready: (withinMs) => becomeReady(client, withinMs),
    ask: (command) => send(command, undefined),
    close() {
      sendGathered();
      client.disconnect();
    },
  };
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
