import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { setTimeout as pause } from 'node:timers/promises';
import { cutOff, endHalfClosed } from '../wire/break-off.ts';
import type { Limits } from '../config/config.ts';
import { endReadably } from '../wire/linger.ts';
import { overloaded, Refusal } from '../refusals.ts';
import { safeMethods } from '../wire/safe-methods.ts';

/** What is known of one client connection. */
interface Connection {
  /** In the order they came. Few, so a list is faster than a map. */
  readonly inFlight: ServerResponse[];
  /** How many requests have come on it. */
  requests: number;
  /** Since when there was nothing in flight, if there is nothing. */
  idleSince: number;
  /** The last request that was answered; the rest of its body may still come. */
  answered: IncomingMessage | undefined;
  /** Bytes that had left for the client when the last look found some waiting, and when that was. */
  sentBytes: number;
  waitingSince: number | undefined;
  /** The parser made no sense of what came: nothing more is read from it. */
  givenUp: boolean;
}

/**
 * The client connections and what is in flight on them. Node bounds none of it by itself: one socket that pipelines
 * requests and never reads would start thousands of upstream calls.
 */
export class Connections {
  readonly #limits: Limits;
  /** How many requests a connection may hold, the refused ones among them. */
  readonly #heldMax: number;
  readonly #open = new Map<Socket, Connection>();
  #inFlight = 0;
  readonly #leave = (): void => {
    this.#inFlight -= 1;
  };
  /** Whether each answer ends its connection. */
  #endsEach = false;
  /** Undefined as long as the gateway is not being stopped. */
  #drainingSince: number | undefined;

  constructor(limits: Limits) {
    this.#limits = limits;
    this.#heldMax = limits.inFlightPerConnection + Math.max(limits.inFlightPerConnection, refusedMin);
  }

  get count(): number {
    return this.#open.size;
  }

  get inFlight(): number {
    return this.#inFlight;
  }

  opened(socket: Socket): void {
    const connection: Connection = {
      inFlight: [],
      requests: 0,
      idleSince: performance.now(),
      answered: undefined,
      sentBytes: 0,
      waitingSince: undefined,
      givenUp: false,
    };
    this.#open.set(socket, connection);
    socket.prependListener('end', () => endHalfClosed(socket, connection.inFlight[0]));
    socket.once('close', () => {
      this.#open.delete(socket);
      process.nextTick(closeResponses, connection);
    });
  }

  /**
   * Counts a request in, or refuses it when too much is in flight already. The connection counts it until its answer is
   * out; the process only until the function that is returned is called, so that refusals nobody reads crowd out no one.
   */
  enter(req: IncomingMessage, res: ServerResponse): () => void {
    const connection = this.#open.get(req.socket);
    if (this.#endsEach) res.shouldKeepAlive = false;
    if (connection === undefined) return ignore;
    connection.requests += 1;
    connection.answered = undefined; // or a connection at work would keep two requests
    // Behind an answer that ends the connection there is no other: what is not begun, the client can safely ask for again.
    const ending = req.socket.writableEnded || connection.inFlight.at(-1)?.shouldKeepAlive === false;
    const crowded =
      this.#inFlight >= this.#limits.inFlight ||
      connection.inFlight.length >= this.#limits.inFlightPerConnection;
    connection.inFlight.push(res);
    res.on('close', () => {
      remove(connection.inFlight, res);
      connection.idleSince = performance.now();
      if (req.visit.cut === 'upstream') noteCut(connection);
      connection.answered = req;
    });
    // Refusals that nobody reads pile up too. Reading no further would not do: nobody would hear the client leave.
    if (connection.inFlight.length >= this.#heldMax) cutOff(req.socket, connection.inFlight[0]);
    if (crowded || ending) {
      res.shouldKeepAlive = false;
      throw overloaded();
    }
    this.#inFlight += 1;
    return this.#leave;
  }

  /**
   * Waits until what came before on the connection is answered. Only safe methods are worked on side by side: who pipelines a
   * PUT and a GET means them in this order (RFC 9112 §9.3.2). Those of HTTP/1.0 are not either: an answer of unknown length ends
   * its connection, and the ones behind it would be lost. Nearly always there is nothing to wait for.
   */
  turn(req: IncomingMessage, res: ServerResponse): Promise<void> | undefined {
    const inFlight = this.#open.get(req.socket)?.inFlight;
    const ahead = inFlight?.at(-2);
    return ahead === undefined || inFlight?.every(mayOverlap) === true ? undefined : after(ahead, res);
  }

  /** Waits until an answer that stands behind others on its connection is out, or lost with them. */
  wayOut(req: IncomingMessage, res: ServerResponse): Promise<void> | undefined {
    const inFlight = this.#open.get(req.socket)?.inFlight;
    if (inFlight === undefined || inFlight[0] === res || !inFlight.includes(res)) return undefined;
    return new Promise((resolve) => void res.once('close', resolve));
  }

  /** The request of a connection whose body is still arriving, if there is one. */
  arriving(socket: Socket): IncomingMessage | undefined {
    const connection = this.#open.get(socket);
    if (connection === undefined) return undefined;
    return connection.inFlight.find(({ req }) => !req.complete)?.req;
  }

  /** Nothing more can be read from this connection: it ends with the last answer under way. False when that was known. */
  giveUp(socket: Socket): boolean {
    const connection = this.#open.get(socket);
    if (connection === undefined || connection.givenUp) return false;
    connection.givenUp = true;
    const end = (): void => endReadably(socket);
    // Node calls it behind the last answer, and what the client still sends would make a reset of it.
    socket.destroySoon = end;
    endAfterAnswers(connection, end);
    return true;
  }

  /** How many requests have come on this connection. */
  requestsOf(socket: Socket): number {
    return this.#open.get(socket)?.requests ?? 0;
  }

  isBusy(socket: Socket): boolean {
    return (this.#open.get(socket)?.inFlight.length ?? 0) > 0;
  }

  /** From now on each answer ends its connection, so that clients that keep one have gone elsewhere when all are ended. */
  endEach(): void {
    this.#endsEach = true;
    for (const { inFlight } of this.#open.values()) sayLast(inFlight.at(-1));
  }

  /** From now on every connection ends with its last answer under way, also where that has promised to keep it already. */
  drain(): void {
    this.#endsEach = true;
    this.#drainingSince = performance.now();
    for (const [socket, connection] of this.#open) endAfterAnswers(connection, () => socket.end());
  }

  /**
   * The connections that should have sent their head, or the rest of a body that nobody reads, by now. Node looks for late heads
   * too, but only until the server is closed: while the gateway stops, half a head would hold it up for the whole drain.
   */
  overdue(now: number): Socket[] {
    const late = [...this.#open].filter(
      ([, connection]) =>
        !connection.givenUp &&
        (this.#isUnreadTooLong(connection, now) ||
          this.#isIdleTooLong(connection, now) ||
          this.#delaysDrain(connection, now)),
    );
    return late.map(([socket]) => socket);
  }

  /** Who reads a body holds it to its time; of one that is answered already, nobody reads the rest. */
  #isUnreadTooLong({ answered }: Connection, now: number): boolean {
    if (answered === undefined || answered.complete) return false;
    return now - answered.visit.startedAt >= this.#limits.requestTimeoutMs;
  }

  /** Line ends between requests are no request (RFC 9112 §2.2), but to Node each is a sign of life. */
  #isIdleTooLong({ inFlight, idleSince }: Connection, now: number): boolean {
    const { keepAliveMs, headerTimeoutMs } = this.#limits;
    return inFlight.length === 0 && now - idleSince >= keepAliveMs + headerTimeoutMs;
  }

  #delaysDrain({ inFlight }: Connection, now: number): boolean {
    const since = this.#drainingSince;
    return since !== undefined && inFlight.length === 0 && now - since >= this.#limits.headerTimeoutMs;
  }

  /** Cuts whatever is left, and has the requests say that it was us. */
  cut(): void {
    for (const [socket, connection] of this.#open) {
      noteCut(connection);
      cutOff(socket, connection.inFlight[0]);
    }
  }

  /**
   * Lets go of what idle connections have answered. A body is taken as soon as all of it is there, and nobody reads on to its end;
   * until somebody does, or the next request comes, Node keeps a request with all of its answer: 6 of 20 KB that a kept connection
   * takes.
   */
  forgetAnswered(): void {
    for (const connection of this.#open.values()) {
      if (connection.inFlight.length > 0 || connection.answered?.complete !== true) continue;
      connection.answered.resume();
      connection.answered = undefined;
    }
  }

  /** Resolves when every connection is gone and every request has come to its end, or has had the time for it. */
  async gone(): Promise<void> {
    const patience = performance.now() + gonePatienceMs;
    while ((this.#open.size > 0 || this.#inFlight > 0) && performance.now() < patience) await pause(10);
  }

  /**
   * Ends the connections of readers that take next to nothing of an answer that waits for them. Looking at bytes
   * rather than at silence also catches a client that reads one byte now and then to look alive.
   */
  endStalledReaders(now: number): void {
    for (const [socket, connection] of this.#open) {
      const sent = socket.bytesWritten - socket.writableLength;
      if (socket.writableLength === 0 || sent - connection.sentBytes >= progressBytes) {
        connection.sentBytes = sent;
        connection.waitingSince = socket.writableLength === 0 ? undefined : now;
      } else {
        connection.waitingSince ??= now;
        if (now - connection.waitingSince >= this.#limits.stalledReaderMs)
          cutOff(socket, connection.inFlight[0]);
      }
    }
  }
}

function ignore(): void {}

function mayOverlap({ req }: ServerResponse): boolean {
  return safeMethods.has(req.method) && req.httpVersion !== '1.0';
}

/** Answers leave in their order, so the one that is next ahead is the last of all that are. */
async function after(ahead: ServerResponse, res: ServerResponse): Promise<void> {
  await new Promise((resolve) => void ahead.once('close', resolve));
  if (res.destroyed) throw new Refusal('client_gone');
  if (res.req.socket.writableEnded) throw overloaded(); // the answer that was ahead has ended the connection
}

function remove(inFlight: ServerResponse[], res: ServerResponse): void {
  const at = inFlight.indexOf(res);
  if (at !== -1) inFlight.splice(at, 1);
}

/** What is in flight on a connection that we are about to cut, or that was cut with an answer of an upstream, is lost by no client. */
function noteCut({ inFlight }: Connection): void {
  for (const { writableFinished, req } of inFlight) {
    if (!writableFinished && req.visit.refusal === undefined) req.visit.cut ??= 'gateway';
  }
}

/**
 * Node tells the responses of a connection that it is gone, but not one on a bare socket: that would count as in flight for ever,
 * and its upstream call would go on for nobody.
 */
function closeResponses({ inFlight }: Connection): void {
  for (const res of inFlight) res.destroy();
}

/**
 * Only the last answer says so: behind the first that does, Node ends the connection, and the others would be lost. One whose
 * head is out has promised to keep the connection already, so the connection is ended behind it.
 */
function endAfterAnswers({ inFlight }: Connection, end: () => void): void {
  const last = inFlight.at(-1);
  if (sayLast(last)) return;
  last?.once('close', () => {
    if (inFlight.length === 0) end();
  });
}

/** Has an answer say that its connection ends behind it; false when its head is out. */
function sayLast(answer: ServerResponse | undefined): boolean {
  if (answer?.headersSent !== false) return false;
  answer.shouldKeepAlive = false;
  return true;
}

/** Even where few requests may be in flight, a client gets to read that it sent one too many. */
const refusedMin = 16;

/** What a request may still do once its connection is cut: a store that does not answer must not hold up the end. */
const gonePatienceMs = 2000;

/**
 * What the system must be seen to send within `limits.stalledReader` for the client to count as reading. It takes more from us only
 * when a third of its send buffer is free, and on a fast line Linux lets that grow to 4 MB: who reads slowly but steadily is seen
 * to take nothing, and then 1.4 MB at once. Node shows nothing finer.
 */
const progressBytes = 16 * 1024;
