import type { Server, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { setTimeout as pause } from 'node:timers/promises';
import type { Limits } from '../config/config.ts';
import { overloaded } from '../refusals.ts';
import { whenAllIsRead } from '../waiting/when-all-is-read.ts';
import { Connection, endsAhead } from './connection.ts';

/**
 * The client connections and what is in flight on them. Node bounds none of it by itself: one socket that pipelines requests and
 * never reads would start thousands of upstream calls.
 */
export class Connections {
  readonly #limits: Limits;
  readonly #open = new Map<Socket, Connection>();
  #inFlight = 0;
  /** Those whose answers are not out, refusals among them. */
  #unanswered = 0;
  #refused = 0;
  #onDone = ignore;
  readonly #leave = (): void => {
    this.#inFlight -= 1;
    this.#onDone();
  };
  readonly #noteAnswer = (): void => {
    this.#unanswered -= 1;
  };
  /** Whether each answer ends its connection. */
  #endsEach = false;
  /** Undefined until the gateway is being stopped. */
  #drainingSince: number | undefined;

  constructor(limits: Limits) {
    this.#limits = limits;
  }

  get count(): number {
    return this.#open.size;
  }

  get countMax(): number {
    return this.#limits.connections;
  }

  get inFlight(): number {
    return this.#inFlight;
  }

  get inFlightMax(): number {
    return this.#limits.inFlight;
  }

  /** Has it called whenever a request is done. */
  whenDone(listener: () => void): void {
    this.#onDone = listener;
  }

  /** How many there was no room for so far. */
  get refused(): number {
    return this.#refused;
  }

  get hasRoom(): boolean {
    return this.#open.size < this.#limits.connections;
  }

  refuse(socket: Socket): void {
    this.#refused += 1;
    socket.destroy();
  }

  opened(socket: Socket): Connection {
    const connection = new Connection(socket, this.#noteAnswer);
    this.#open.set(socket, connection);
    socket.once('close', () => {
      this.#open.delete(socket);
      connection.noteEnd();
      process.nextTick(() => connection.closeAnswers());
    });
    return connection;
  }

  /**
   * Asked before anything is made of a further request. What is read in one turn of the event loop is held until its end, even if
   * it is refused at once: two requests of 16 KB on each of 10,000 connections would take 1 GB. Only connections that still owe an
   * answer are held to that: a client that reads nothing crowds nobody out.
   */
  takesMore(connection: Connection): boolean {
    if (connection.isBusy && this.#unanswered >= this.#limits.inFlight) connection.giveUp();
    return connection.isOpen;
  }

  /**
   * Counts a request in, or refuses it when too much is in flight already. The connection counts it until its answer is out; the
   * process only until the returned function is called, so that refusals nobody reads crowd nobody out.
   */
  enter(res: ServerResponse, connection: Connection | undefined): () => void {
    if (this.#endsEach) res.shouldKeepAlive = false;
    if (connection === undefined) return ignore;
    const detail = this.#whyNot(connection);
    connection.enter(res);
    this.#unanswered += 1;
    if (detail !== undefined) {
      // Or what comes behind it would pile up, as refusals that nobody reads.
      connection.giveUp();
      throw overloaded({ detail });
    }
    this.#inFlight += 1;
    return this.#leave;
  }

  /** Why no further request of this connection may begin, if none may. */
  #whyNot(connection: Connection): string | undefined {
    const { inFlight, inFlightPerConnection } = this.#limits;
    if (this.#inFlight >= inFlight) return 'limits.inFlight is reached';
    if (connection.inFlight >= inFlightPerConnection) return 'limits.inFlightPerConnection is reached';
    return connection.isEnding ? endsAhead : undefined;
  }

  of(socket: Socket): Connection | undefined {
    return this.#open.get(socket);
  }

  /**
   * Has a connection judged once all that has come on it is read: what Node finds late may have come in time, and wait to be read
   * because the process stood still, or the connection was held back.
   */
  whenRead(socket: Socket, judge: () => void): void {
    this.of(socket)?.readOn();
    whenAllIsRead(judge);
  }

  /** From now on each answer ends its connection, so that clients that keep one have gone elsewhere by the time all are ended. */
  endEach(): void {
    this.#endsEach = true;
    for (const connection of this.#open.values()) connection.announceEnd();
  }

  /** From now on idle connections are ended, once nothing can be on its way on them any more. */
  drain(): void {
    this.endEach();
    this.#drainingSince = performance.now();
  }

  /**
   * Has the server end the connections on which nothing has been under way for that long of the drain: only Node knows whether a head
   * has begun. But Node takes a connection for idle as soon as the last piece of its answer is written, however much of it a slow
   * reader has yet to take. So while Node looks, all other connections cannot be destroyed.
   */
  endIdle(server: Pick<Server, 'closeIdleConnections'>, idleMs: number): void {
    const since = performance.now() - idleMs;
    if (this.#drainingSince === undefined || this.#drainingSince > since) return;
    const others = [...this.#open]
      .filter(([, connection]) => !connection.isIdleSince(since))
      .map(([socket]) => socket);
    if (others.length === this.#open.size) return;
    for (const socket of others) socket.destroy = () => socket;
    try {
      server.closeIdleConnections();
    } finally {
      for (const socket of others) Reflect.deleteProperty(socket, 'destroy');
    }
  }

  /**
   * Ends the connections of readers that take next to nothing, those that nothing but line ends keeps, and those on which the rest
   * of a body that nobody reads is late; lets go of what idle ones have answered.
   */
  sweep(now: number): void {
    for (const connection of this.#open.values()) {
      connection.judgeReader(now, this.#limits);
      connection.judgeSilence(now, this.#limits);
      connection.judgeRest(now, this.#limits, this.#drainingSince);
    }
  }

  /** Cuts whatever is left. */
  cut(): void {
    for (const connection of this.#open.values()) connection.cut();
  }

  /** Resolves when every connection is gone and every request has ended, or has had time to. */
  async gone(): Promise<void> {
    const deadline = performance.now() + gonePatienceMs;
    while ((this.#open.size > 0 || this.#inFlight > 0) && performance.now() < deadline) await pause(10);
  }
}

function ignore(): void {}

/**
 * How long a request may go on once its connection is cut: a store that does not answer must not hold up the end. Together with the
 * last tries to give back units this is less than a worker has for its end.
 */
const gonePatienceMs = 1000;
