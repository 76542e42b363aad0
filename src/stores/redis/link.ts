import { systemClock } from '../../waiting/clock.ts';
import { type RoomSpot, turnsFor, WaitingRoom } from '../../waiting/waiting-room.ts';
import { sendAtOnce, sendTogether, type Client } from './client/client.ts';
import { type Breaker, type Call, Health } from './health.ts';
import { Runs } from './runs.ts';
import { callOf, type Command, type Script, type SharedScript, type Words } from './scripts.ts';

/** The way to Redis: every call answers within the deadline or rejects with `StoreUnavailable`. */
export interface Link {
  /** Runs a script. The first key decides where. Callers of the same script in one turn of the event loop share calls. */
  run(script: Script | SharedScript, keys: readonly string[], args: Words): Promise<unknown>;
  /** Sends plain commands about one key. */
  send<T>(key: string, command: Command<T>): Promise<T>;
  /** Asks Redis itself, bypassing the breaker, for callers that ask rarely and must know how it is now. */
  ask<T>(command: Command<T>): Promise<T>;
  onReturn(hear: () => void): void;
  close(): void;
}

/** Puts a deadline and a breaker in front of a client. `where` names the servers, as people read them. */
export function createLink(
  client: Client,
  { deadlineMs, where }: { readonly deadlineMs: number; readonly where: string },
): Link {
  const health = new Health(client, where);
  // The deadline is ours: a command that hangs in a socket or in a queue of the client has none of its own. If the process was
  // held up, an answer that came in time is read first.
  const room = new WaitingRoom<Call>({
    clock: systemClock,
    waitMs: deadlineMs,
    extraTurns: turnsFor.call,
    onLate: (call) => call.reject(health.wasSilent(call, deadlineMs)),
  });
  /** The latest callers of this turn. Their call is sent before any other, and at the end of the turn. */
  let gathered: { readonly runs: Runs; readonly spot: RoomSpot<Call> } | undefined;
  /** In a cluster the keys of two callers may be in two places. Some clusters look like one server from here. */
  let isOnePlace = !client.isCluster;

  function run(script: Script | SharedScript, keys: readonly string[], args: Words): Promise<unknown> {
    const breaker = health.breakerOf(keys[0] ?? '');
    if (!isOnePlace || !('many' in script)) return send(callOf(script, keys, args), breaker);
    const whyNot = health.whyNotAsk(breaker);
    if (whyNot !== undefined) return Promise.reject(whyNot);
    if (gathered?.runs.takes(script) !== true) {
      sendGathered();
      const runs = new Runs(script, breaker, health);
      gathered = { runs, spot: expect(runs) };
    }
    const answer = gathered.runs.join(keys, args);
    if (gathered.runs.isFull) {
      sendGathered();
      sendAtOnce(client);
    }
    return answer;
  }

  function sendGathered(): void {
    if (gathered === undefined) return;
    const { runs, spot } = gathered;
    gathered = undefined;
    const command = runs.compose(() => (isOnePlace = false));
    sendFor(runs, spot, command);
  }

  function send<T>(command: Command<T>, breaker: Breaker | undefined): Promise<T> {
    const whyNot = health.whyNotAsk(breaker);
    if (whyNot !== undefined) return Promise.reject(whyNot);
    sendGathered();
    return new Promise((resolve, reject) => {
      const call = { breaker, waiting: 1, resolve, reject };
      sendFor(call, expect(call), command);
    });
  }

  /** From now on somebody waits for an answer to what is sent in this turn. */
  function expect(call: Call): RoomSpot<Call> {
    const spot = room.enter(call);
    sendTogether(client, sendGathered);
    return spot;
  }

  function sendFor<T>(call: Call<T>, spot: RoomSpot<Call>, command: Command<T>): void {
    try {
      void command(client, () => spot.isTaken).then(succeed, fail);
    } catch (thrown) {
      fail(thrown); // what throws at once has failed too
    }

    // A late answer is not a sign of health.
    function succeed(answer: T): void {
      if (!spot.leave()) return;
      health.answered(call);
      call.resolve(answer);
    }

    function fail(thrown: unknown): void {
      if (spot.leave()) call.reject(health.failed(call, thrown));
    }
  }

  return {
    send: (key, command) => send(command, health.breakerOf(key)),
    run,
    ask: (command) => send(command, undefined),
    onReturn: (hear) => void client.on('ready', hear),
    close() {
      sendGathered();
      client.disconnect();
    },
  };
}
