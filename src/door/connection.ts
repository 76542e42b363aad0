import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { Limits } from '../config/config.ts';
import { overloaded, Refusal } from '../refusals.ts';
import { isJammed, leaveRoom, whenThereIsRoom } from '../waiting/departures.ts';
import { cutOff, endHalfClosed } from '../wire/break-off.ts';
import { endReadably, endReadablyAfterLast } from '../wire/linger.ts';
import { safeMethods } from '../wire/safe-methods.ts';

/**
 * One client connection, and what is in flight on it. It ends in one of two ways: given up, it takes no more requests and ends
 * after its last answer, so that the client can read that; cut off, it ends at once, when the time of the gateway or of a reader is
 * over.
 */
export class Connection {
  readonly #socket: Socket;
  readonly #onAnswer: () => void;
  /** In the order they came. Few, so a list is faster than a map. */
  readonly #inFlight: ServerResponse[] = [];
  #requests = 0;
  /** Since when nothing has been in flight, if nothing is. */
  #idleSince = performance.now();
  /** The last request, if it was answered before all of its body had come. */
  #answered: IncomingMessage | undefined;
  /** Bytes that had left for the client at the last sign of progress, and since when more have waited. */
  #sentBytes = 0;
  #waitingSince: number | undefined;
  /** What came made no sense, or was too much: nothing more is made of what may still come. */
  #isGivenUp = false;
  /** It is not read, and a request may wait in it. */
  #isHeldBack = false;
  /** How many requests had come by the time that it was read again, after it was last held back. */
  #requestsBefore = -1;

  /** `onAnswer` is called for each request whose answer is out, or lost. */
  constructor(socket: Socket, onAnswer: () => void) {
    this.#socket = socket;
    this.#onAnswer = onAnswer;
    socket.prependListener('end', () => endHalfClosed(socket, this.#inFlight[0]));
  }

  /** How many requests have come on it. */
  get requests(): number {
    return this.#requests;
  }

  get inFlight(): number {
    return this.#inFlight.length;
  }

  get isBusy(): boolean {
    return this.#inFlight.length > 0;
  }

  isIdleSince(moment: number): boolean {
    return !this.isBusy && !this.#isHeldBack && this.#idleSince <= moment;
  }

  /** Whether it is known to end: later requests are not begun, so that the client can safely send them again. */
  get isEnding(): boolean {
    return this.#isEnded || this.#inFlight.at(-1)?.shouldKeepAlive === false;
  }

  /** Our side has ended. What its client still sends is read for a while, so that it gets to read the last answer. */
  get #isEnded(): boolean {
    return this.#socket.writableEnded;
  }

  /** Counts a request until its answer is out. */
  enter(res: ServerResponse): void {
    const { req } = res;
    this.#requests += 1;
    this.#answered = undefined; // or a connection at work would keep two requests
    this.#inFlight.push(res);
    res.on('close', () => {
      this.#inFlight.splice(this.#inFlight.indexOf(res), 1);
      this.#onAnswer();
      this.#idleSince = performance.now();
      if (req.visit.cut === 'upstream') this.#noteCut();
      // What stands behind an answer that broke off is lost, though its connection is read for a while.
      if (!res.writableFinished) this.closeAnswers();
      if (req.complete) discardRest(req);
      else this.#answered = req;
      if (!res.shouldKeepAlive || this.isBusy) return;
      // The last answer had promised to keep the connection, as its head left before that was given up.
      if (this.#isGivenUp) endReadably(this.#socket);
      else if (isJammed() && req.complete) this.#holdBack();
    });
  }

  /**
   * Reads the next request only once there is room for it among those that wait to leave. Read before, it would wait with them, and
   * what waits is moved along by each collection of the young generation: with 512 clients that took 14 % of the CPU (record 32). Only who
   * has just been answered is held back, as nobody else will ask as soon.
   */
  #holdBack(): void {
    this.#isHeldBack = true;
    this.#socket.pause();
    whenThereIsRoom(() => this.readOn());
  }

  /** Reads from it again, if it was held back: what had come meanwhile is read in the next turn. */
  readOn(): void {
    if (!this.#isHeldBack) return;
    this.#isHeldBack = false;
    this.#idleSince = performance.now();
    this.#requestsBefore = this.#requests;
    this.#socket.resume();
  }

  /**
   * Call it when the connection has closed. While it is held back it is not read, so nobody sees its client leave. Clients that make a
   * connection for each request keep up a jam, and leave more connections behind in this way than go on: so for each one that turns out
   * to have been left, another goes on.
   */
  noteEnd(): void {
    if (this.#requests === this.#requestsBefore) leaveRoom();
  }

  /**
   * Waits until what came before the last request has been answered, unless all may be worked on side by side. Nearly always there
   * is nothing to wait for.
   */
  turn(res: ServerResponse): Promise<void> | undefined {
    const ahead = this.#inFlight.at(-2);
    return ahead === undefined || this.#inFlight.every(mayOverlap) ? undefined : after(ahead, res);
  }

  /** Waits until an answer that is queued after others is out, or lost with them. */
  whenOut(res: ServerResponse): Promise<void> | undefined {
    if (this.#inFlight[0] === res || !this.#inFlight.includes(res)) return undefined;
    return new Promise((resolve) => void res.once('close', resolve));
  }

  /** The request whose body is still arriving, if there is one. */
  get arriving(): IncomingMessage | undefined {
    return this.#inFlight.find(({ req }) => !req.complete)?.req;
  }

  /** Whether the request whose body is still arriving has its answer already. */
  get isAnswered(): boolean {
    return this.#answered?.complete === false;
  }

  /** Whether requests are read from it. */
  get isOpen(): boolean {
    return !this.#isGivenUp && !this.#socket.destroyed;
  }

  /** No more requests are read from it: it ends with the last answer under way. False when that was already known. */
  giveUp(): boolean {
    if (this.#isGivenUp) return false;
    this.#isGivenUp = true;
    endReadablyAfterLast(this.#socket);
    this.announceEnd();
    return true;
  }

  /** Goes on with the answer under way once its client has taken what was sent: Node no longer tells it. */
  resumeAnswer(): void {
    this.#inFlight[0]?.emit('drain');
  }

  /**
   * Makes the last answer under way say that the connection ends after it, unless its head is out. Only the last: Node ends the
   * connection after the first that says so, and the others would be lost.
   */
  announceEnd(): void {
    const last = this.#inFlight.at(-1);
    if (last?.headersSent === false) last.shouldKeepAlive = false;
  }

  /** Ends it at once, and notes on its requests that it was us. */
  cut(): void {
    this.#noteCut();
    cutOff(this.#socket, this.#inFlight[0]);
  }

  /** When we or a broken answer of an upstream cut a connection, the requests in flight on it were not lost by their client. */
  #noteCut(): void {
    for (const { req } of this.#inFlight) {
      if (req.visit.refusal === undefined) req.visit.cut ??= 'gateway';
    }
  }

  /**
   * Node tells the responses of a connection that it is gone, but not one that was assigned to a bare socket: that would count as
   * in flight for ever, and its upstream call would go on for nobody.
   */
  closeAnswers(): void {
    for (const res of this.#inFlight) res.destroy();
  }

  /**
   * Ends it when nothing has been asked on it for so long that only line ends can have kept it: they are no request (RFC 9112
   * §2.2), but to Node each is a sign of life.
   */
  judgeSilence(now: number, { headerTimeoutMs, keepAliveMs }: Limits): void {
    if (this.isBusy || this.#isEnded) return;
    if (now - this.#idleSince < keepAliveMs + headerTimeoutMs + nodeLatenessMs) return;
    if (this.giveUp()) endReadably(this.#socket);
  }

  /**
   * Lets go of a request that it has answered, once the rest of its body has come. Nobody reads that any more, so nobody else holds
   * it to its time: if it comes too late the connection ends. A drain waits for it no longer than for a head.
   */
  judgeRest(now: number, limits: Limits, drainingSince: number | undefined): void {
    const answered = this.#answered;
    if (answered === undefined) return;
    if (answered.complete) {
      discardRest(answered);
      this.#answered = undefined;
      return;
    }
    const isLate =
      now - answered.visit.startedAt >= limits.requestTimeoutMs ||
      (drainingSince !== undefined && now - drainingSince >= limits.headerTimeoutMs);
    if (isLate && !this.#isEnded && this.giveUp()) endReadably(this.#socket);
  }

  /**
   * Ends it when its reader takes next to nothing of an answer that waits for it. Looking at bytes rather than silence also catches
   * a client that reads one byte now and then to look alive.
   */
  judgeReader(now: number, { stalledReaderMs }: Limits): void {
    const { bytesWritten, writableLength } = this.#socket;
    const sent = bytesWritten - writableLength;
    if (writableLength === 0 || sent - this.#sentBytes >= progressBytes) {
      this.#sentBytes = sent;
      this.#waitingSince = undefined;
      return;
    }
    this.#waitingSince ??= now;
    if (now - this.#waitingSince >= stalledReaderMs) cutOff(this.#socket, this.#inFlight[0]);
  }
}

/**
 * Where a reader has stopped before the end of a body Node keeps the request, with all of its answer, until the next one comes: 6
 * of the 20 KB that a kept connection takes.
 */
function discardRest(req: IncomingMessage): void {
  if (!req.readableEnded) req.resume();
}

/**
 * Only safe methods are worked on side by side: a client that pipelines a PUT and a GET means them in this order (RFC 9112 §9.3.2).
 * HTTP/1.0 requests never are: an answer of unknown length ends its connection, and those after it would be lost. So may the
 * refusal of chunks or of an expectation. And of an answer that is queued Node puts the head in front of a "100 Continue" that
 * waits there (26.10).
 */
function mayOverlap({ req }: ServerResponse): boolean {
  const { expect, 'transfer-encoding': coding } = req.headers;
  const isPlain = expect === undefined && coding === undefined && req.httpVersion !== '1.0';
  return isPlain && safeMethods.has(req.method);
}

/** Answers leave in order, so the one just ahead is the last to wait for. */
async function after(ahead: ServerResponse, res: ServerResponse): Promise<void> {
  await new Promise((resolve) => void ahead.once('close', resolve));
  if (res.destroyed) throw new Refusal('client_gone');
  if (res.req.socket.writableEnded) throw overloaded({ detail: endsAhead });
}

/** Why a request is not begun that came behind the last answer of its connection. */
export const endsAhead = 'the answer ahead of it ends the connection';

/** Node ends an idle connection a second after its time, and a head that began just before that up to a second after its own. */
const nodeLatenessMs = 2000;

/**
 * What the system must be seen to send within `limits.stalledReader` for the client to count as reading. It takes more from us only
 * when a third of its send buffer is free, and on a fast line Linux lets that grow to 4 MB: a slow but steady reader seems to take
 * nothing, and then 1.4 MB at once. Node shows nothing finer.
 */
const progressBytes = 16 * 1024;
