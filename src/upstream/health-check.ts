import type { Socket } from 'node:net';
import type { HealthRule } from '../config/config.ts';
import { afterReading } from '../waiting/when-all-is-read.ts';
import { type AnswerListener, AnswerReader } from './answer-reader.ts';
import { RequestHead } from './buffered/request-head.ts';
import type { Connector } from './connect.ts';
import { ConnectionClosed, errorOf, ResponseTimeout, Unhealthy } from './failures.ts';
import type { Guest, Seats } from './seats.ts';

/** A target, as far as it is asked about its health. */
export interface Checked {
  readonly url: URL;
  readonly connect: Connector;
  readonly seats: Seats;
}

/**
 * Asks a target once whether it is healthy, over a connection of its own: that new ones can be made is part of health. It takes a
 * seat as requests do, in line if it must, so a target that does one thing at a time is not found ill because it works.
 */
export class HealthCheck implements Guest, AnswerListener {
  hasSeat = false;
  spot: Guest['spot'];
  readonly #target: Checked;
  readonly #rule: HealthRule;
  readonly #whenOver: (fault: Error | undefined) => void;
  readonly #reader = new AnswerReader();
  #socket: Socket | undefined;
  #stopWaiting: (() => void) | undefined;
  #status = 0;
  #bodyBytes = 0;
  #isOver = false;

  /** `whenOver` is told what is wrong with the target, if anything is: `Unhealthy` where it says so itself. */
  constructor(target: Checked, rule: HealthRule, whenOver: (fault: Error | undefined) => void) {
    this.#target = target;
    this.#rule = rule;
    this.#whenOver = whenOver;
  }

  start(): void {
    this.#target.seats.take(this, () => this.#connect());
  }

  /** Ends it without a result. */
  stop(): void {
    this.#isOver = true;
    this.#release();
  }

  turnAway(reason: Error): void {
    this.#finish(reason);
  }

  answerBegins(status: number): void {
    this.#status = status;
  }

  answerGoesOn(piece: Buffer): void {
    this.#bodyBytes += piece.length;
  }

  #connect(): void {
    const { connect, seats } = this.#target;
    seats.makeRoom();
    connect(
      (socket) => this.#ask(socket),
      (error) => {
        this.#finish(error);
        seats.leave(this);
      },
      (bytes) => this.#read(bytes),
    );
  }

  #ask(socket: Socket): void {
    this.#socket = socket;
    if (this.#isOver) return this.#release();
    const { path, host = this.#target.url.host, timeoutMs } = this.#rule;
    const head = new RequestHead({ method: 'GET', path, host, headers: ['user-agent', 'gatehouse'] });
    this.#stopWaiting = afterReading(timeoutMs, () => this.#finish(new ResponseTimeout(timeoutMs)));
    this.#reader.begin(head.method);
    socket.on('end', () => this.#end()).on('error', (error) => this.#finish(error));
    socket.write(head.write('close'), 'latin1');
  }

  #read(bytes: Buffer): void {
    try {
      this.#reader.read(bytes, this);
    } catch (error) {
      return this.#finish(errorOf(error));
    }
    if (this.#reader.isOver || this.#bodyBytes > bodyBytesMax) this.#judge();
  }

  #end(): void {
    if (this.#reader.lastsUntilTheEnd) this.#judge();
    else this.#finish(new ConnectionClosed());
  }

  #judge(): void {
    const isHealthy = this.#status >= 200 && this.#status < 300;
    this.#finish(isHealthy ? undefined : new Unhealthy(this.#status));
  }

  /** Tells first: the next in line for the seat that comes free should not try a target that has just been found ill. */
  #finish(fault: Error | undefined): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#whenOver(fault);
    this.#release();
  }

  #release(): void {
    const { seats } = this.#target;
    this.#stopWaiting?.();
    seats.giveUp(this);
    // While it connects, the seat is that of the connection to come.
    if (this.#socket === undefined) return;
    this.#socket.destroy();
    seats.leave(this);
  }
}

/** The rest of a longer answer is not waited for: it has said how it is. */
const bodyBytesMax = 64 * 1024;
