import type { Socket } from 'node:net';
import { turnsSoFar } from '../../waiting/when-all-is-read.ts';
import { AnswerReader } from '../answer-reader.ts';
import type { Connector } from '../connect.ts';
import { ConnectionClosed, errorOf, isClosed, NonsenseAnswer } from '../failures.ts';
import { hangUp } from '../hang-up.ts';
import type { AnswerSource, Relay } from '../relay.ts';
import { chooseAgeMsMax } from '../seats.ts';
import type { RequestHead } from './request-head.ts';

/** A request that is wholly in memory. */
export interface WholeRequest {
  readonly head: RequestHead;
  readonly body: Buffer;
  /** It gets a connection of its own, which is closed afterwards. */
  readonly alone: boolean;
}

/** The lane that owns a connection. */
export interface ConnectionHome {
  /** All of an answer has come. `keptMs` is how long the upstream waits for the next request, if it said so. */
  readonly answered: (connection: TargetConnection, relay: Relay, keptMs: number | undefined) => void;
  /** The connection closed. If there is a relay, its answer is not whole. */
  readonly closed: (connection: TargetConnection, relay: Relay | undefined, cause: Error) => void;
}

/**
 * One connection to a target. It takes one request after another, each when the answer to the last is whole. Anything that comes
 * while nothing is due ends it.
 */
export class TargetConnection implements AnswerSource {
  readonly #home: ConnectionHome;
  readonly #reader = new AnswerReader();
  #socket: Socket | undefined;
  /** The one that its answer is for. */
  #relay: Relay | undefined;
  /** The request under way is its last. */
  #isLast = false;
  /** It has been kept for later at least once. */
  #wasKept = false;
  /** Some of the answer has come. */
  #heard = false;
  #restsSince = 0;
  #restsUntil = 0;
  #keptUntil = 0;

  private constructor(home: ConnectionHome) {
    this.#home = home;
  }

  /** Makes a connection. Exactly one of the two callbacks is called, once. */
  static open(
    connect: Connector,
    home: ConnectionHome,
    whenOpen: (connection: TargetConnection) => void,
    whenFailed: (error: Error) => void,
  ): void {
    const connection = new TargetConnection(home);
    const opened = (socket: Socket): void => {
      connection.#listen(socket);
      whenOpen(connection);
    };
    connect(opened, whenFailed, connection.#reads());
  }

  /** Sends a request; the relay is told of its answer. */
  ask({ head, body, alone }: WholeRequest, relay: Relay): void {
    const socket = this.#socket as Socket;
    this.#relay = relay;
    this.#isLast = alone;
    this.#heard = false;
    this.#reader.begin(head.method);
    relay.connected(this);
    const text = head.write(alone ? 'close' : 'keep-alive');
    // Head and body as one string cost one write of text, much less than the write of a list of buffers.
    if (body.length <= joinedBytesMax) socket.write(text + body.toString('latin1'), 'latin1');
    else {
      socket.cork();
      socket.write(text, 'latin1');
      socket.write(body);
      socket.uncork();
    }
    // A connection that turns out to be closed already takes none of it.
    if (socket.errored === null) relay.requestSent();
  }

  /** Keeps it for later, for at most this long. */
  rest(ms: number): void {
    this.#wasKept = true;
    this.#restsSince = turnsSoFar();
    this.#restsUntil = Math.min(performance.now() + ms, this.#keptUntil);
  }

  /**
   * Whether all that had come when it was put to rest has been read: the turn then under way has ended, and so has another.
   * Anything the upstream sent after its answer has ended the connection by now, and is not taken for the next answer
   * (CVE-2026-48931).
   */
  get hasRested(): boolean {
    return turnsSoFar() - this.#restsSince >= 2;
  }

  /** It has rested too long, or some of the last request is still on its way to an upstream that has already answered. */
  isSpent(now: number): boolean {
    return this.#restsUntil <= now || this.#socket?.writableLength !== 0;
  }

  pause(): void {
    this.#socket?.pause();
  }

  resume(): void {
    this.#socket?.resume();
  }

  abort(reason: Error): void {
    this.#break(reason);
  }

  isStale(error: Error): boolean {
    return this.#wasKept && !this.#heard && isClosed(error);
  }

  /** Only for one on which no request is under way. */
  close(): void {
    this.#break(new ConnectionClosed());
  }

  /** Lives as long as the connection, so it is made here, where it holds nothing of the request that the connection is opened for. */
  #reads(): (bytes: Buffer) => void {
    return (bytes) => this.#read(bytes);
  }

  #listen(socket: Socket): void {
    this.#socket = socket;
    this.#keptUntil = performance.now() + chooseAgeMsMax();
    socket
      .on('end', () => this.#end())
      .on('error', (error) => this.#break(error))
      .on('close', () => this.#break(new ConnectionClosed()));
  }

  #read(bytes: Buffer): void {
    const relay = this.#relay;
    if (relay === undefined) return this.#break(new NonsenseAnswer('it spoke before it was asked'));
    this.#heard = true;
    let read: number;
    try {
      read = this.#reader.read(bytes, relay);
    } catch (error) {
      return this.#break(errorOf(error));
    }
    if (this.#relay === relay && this.#reader.isOver) this.#finish(relay, read === bytes.length);
  }

  #end(): void {
    const relay = this.#relay;
    if (relay !== undefined && this.#reader.lastsUntilTheEnd) this.#finish(relay, false);
    else this.#break(new ConnectionClosed());
  }

  /** `isClean`: nothing came after the answer. */
  #finish(relay: Relay, isClean: boolean): void {
    this.#relay = undefined;
    if (this.#socket?.isPaused() === true) this.resume();
    this.#home.answered(this, relay, isClean && !this.#isLast ? this.#reader.keptMs : 0);
  }

  #break(cause: Error): void {
    const socket = this.#socket;
    if (socket === undefined) return;
    this.#socket = undefined;
    const relay = this.#relay;
    this.#relay = undefined;
    if (relay === undefined) socket.destroy();
    else hangUp(socket);
    this.#home.closed(this, relay, cause);
  }
}

/** A larger body is not joined to its head. */
const joinedBytesMax = 16 * 1024;
