import type { ClientRequest, IncomingMessage, ServerResponse } from 'node:http';
import type { Duplex } from 'node:stream';
import { TLSSocket } from 'node:tls';
import type { Body } from '../../bodies/body.ts';
import type { UpstreamConfig } from '../../config/config.ts';
import { afterReading, allIsRead } from '../../waiting/when-all-is-read.ts';
import { gatherPieces } from '../../wire/gather-pieces.ts';
import { endReadablyAfterLast } from '../../wire/linger.ts';
import { ClientGone, ConnectTimeout, errorOf, NonsenseAnswer, switchedUnasked } from '../failures.ts';
import { checkSwitch, type Handshake } from '../handshake.ts';
import { hangUp } from '../hang-up.ts';
import type { OpenSocket } from '../open-sockets.ts';
import { type AnswerSource, type LaneParts, Relay } from '../relay.ts';
import type { Seats } from '../seats.ts';
import { BodySender } from './body-sender.ts';
import { joinSockets } from './join-sockets.ts';
import { judgeHead } from './judge-head.ts';

/** A request whose body is read while it is sent. */
export interface StreamedRequest {
  readonly method: string;
  readonly path: string;
  readonly headers: readonly string[];
  readonly body: Body;
  readonly switching: Switching | undefined;
  /** It gets a connection of its own, which is closed afterwards. */
  readonly alone: boolean;
}

/** A client that wants to switch protocols. */
export interface Switching {
  readonly client: OpenSocket;
  readonly handshake: Handshake;
  /** Puts back what it has sent, which is held from before the first target is tried until one of them switches. */
  readonly putBack: () => void;
}

interface StreamedBounds {
  readonly timeouts: UpstreamConfig['timeouts'];
  readonly seats: Seats;
}

/** Opens the outgoing request, and reports its failure. */
type OpenOutgoing = (onError: (error: Error) => void) => ClientRequest;

/** One request and its answer: its connection, its times, and how it ends. */
export class StreamedExchange implements AnswerSource {
  readonly #body: Body;
  readonly #switching: Switching | undefined;
  readonly #parts: LaneParts;
  readonly #res: ServerResponse;
  readonly #relay: Relay;
  readonly #timeouts: UpstreamConfig['timeouts'];
  readonly #seats: Seats;
  #outgoing: ClientRequest | undefined;
  /** Set once there is a connection. */
  #sender: BodySender | undefined;
  #answer: IncomingMessage | undefined;
  /** Ends the time to connect, while that runs. */
  #stopWaiting: (() => void) | undefined;

  constructor(
    { body, switching }: StreamedRequest,
    res: ServerResponse,
    { parts, bounds }: { readonly parts: LaneParts; readonly bounds: StreamedBounds },
  ) {
    this.#body = body;
    this.#switching = switching;
    this.#parts = parts;
    this.#res = res;
    this.#timeouts = bounds.timeouts;
    this.#seats = bounds.seats;
    this.#relay = new Relay(res, parts, { ...bounds, whenOver: () => this.#stop() });
  }

  begin(open: OpenOutgoing): void {
    // One turn of the loop before a kept connection is taken: by then anything the upstream sent on it unasked has been noticed,
    // and is not taken for the answer (CVE-2026-48931).
    this.#relay.takeSeat(() => setImmediate(() => this.#open(open)));
  }

  #open(open: OpenOutgoing): void {
    if (this.#relay.isOver) return;
    try {
      this.#outgoing = open((error) => this.#fail(error));
    } catch (error) {
      this.#relay.breakOff(errorOf(error));
      return;
    }
    this.#listen(this.#outgoing);
  }

  #listen(outgoing: ClientRequest): void {
    outgoing.once('socket', (socket) => {
      judgeHead(outgoing, socket, (reason) => this.#relay.breakOff(reason));
      if (!socket.connecting) return this.#connected();
      const { connectMs } = this.#timeouts;
      this.#stopWaiting = afterReading(connectMs, () => this.#relay.breakOff(new ConnectTimeout(connectMs)));
      socket.once(socket instanceof TLSSocket ? 'secureConnect' : 'connect', () => this.#connected());
    });
    outgoing.once('response', (answer) => this.#receive(answer));
    outgoing.once('upgrade', (answer, socket, ahead) => {
      // Node has taken its own listeners off the socket: without one a reset by the upstream would end the process.
      socket.on('error', () => socket.destroy());
      socket.unshift(ahead);
      void this.#switch(answer, socket);
    });
  }

  pause(): void {
    this.#answer?.pause();
    this.#sender?.hold();
  }

  resume(): void {
    this.#answer?.resume();
    this.#sender?.goOn();
  }

  /**
   * Whatever happens to a kept connection before anything has left on it is no failure of the request. Later no request is sent once
   * more from here: those for which that is safe have connections of their own.
   */
  isStale(): boolean {
    return this.#outgoing?.reusedSocket === true && !this.#relay.hasLeft;
  }

  #connected(): void {
    this.#stopWaiting?.();
    this.#relay.connected(this);
    this.#sender = new BodySender({
      body: this.#body,
      outgoing: this.#outgoing as ClientRequest,
      relay: this.#relay,
      idleMs: this.#timeouts.idleMs,
    });
    void this.#sender.send();
  }

  #receive(answer: IncomingMessage): void {
    if (this.#relay.isOver) return;
    // Such as the 408 for a connection that was idle too long: the upstream knows nothing of this request.
    if (!this.#relay.hasLeft) {
      return this.#relay.breakOff(new NonsenseAnswer('it answered before it was asked'));
    }
    this.#answer = answer;
    gatherPieces(answer);
    // The rest of a body that nobody wants is still to come, so the client's connection cannot be used again.
    if (!this.#res.req.complete) this.#res.shouldKeepAlive = false;
    answer.on('data', (chunk: Buffer) => this.#relay.answerGoesOn(chunk));
    answer.once('end', () => {
      if (answer.complete) this.#finish();
    });
    answer.once('error', (error) => this.#fail(error));
    this.#relay.answerBegins(answer.statusCode ?? 0, answer.rawHeaders);
  }

  async #switch(answer: IncomingMessage, upstream: Duplex): Promise<void> {
    const switching = this.#switching;
    const { progress, listener } = this.#parts;
    try {
      if (this.#relay.isOver) throw new ClientGone();
      if (switching === undefined) throw new NonsenseAnswer(switchedUnasked);
      checkSwitch(answer, switching.handshake.key);
      switching.putBack();
      this.#relay.answerSwitches(answer.rawHeaders);
      const { client, handshake } = switching;
      await joinSockets({ client, upstream, idleMs: handshake.idleMs, progress });
      listener.resolve();
    } catch (error) {
      upstream.destroy();
      this.#fail(errorOf(error));
    }
  }

  /** An answer can be complete before the request is. Then the rest is not wanted, but the client must get to read the answer. */
  #finish(): void {
    const { req } = this.#res;
    if (this.#sender?.giveUpRest() === true && !req.complete) endReadablyAfterLast(req.socket);
    this.#relay.answerEnded();
  }

  /** What happens to the connection after a whole answer is no concern of the client. */
  #fail(error: Error): void {
    if (this.#answer?.complete !== true) this.#relay.answerFailed(error);
  }

  #stop(): void {
    this.#stopWaiting?.();
    this.#sender?.stop();
    void this.#partWithConnection();
  }

  /**
   * Its connection is kept only when both sides are done with it. The seat goes with it: whoever is next must find the connection
   * free or gone.
   */
  async #partWithConnection(): Promise<void> {
    const outgoing = this.#outgoing;
    const answer = this.#answer;
    if (outgoing?.writableEnded === true && answer?.complete === true) {
      answer.resume(); // what its client has left unread: Node frees no connection before that
      await destroyUnlessSent(outgoing);
    } else this.#hangUp();
    this.#seats.leave(this.#relay);
  }

  /** Where a switch of protocols was asked for, a reset ends many a server: Node's takes its listeners off such a connection. */
  #hangUp(): void {
    const socket = this.#outgoing?.socket;
    if (socket && this.#switching === undefined) hangUp(socket);
    this.#outgoing?.destroy();
  }
}

async function destroyUnlessSent(outgoing: ClientRequest): Promise<void> {
  for (let turn = 0; turn < lateTurns && !outgoing.writableFinished; turn += 1) await allIsRead();
  if (!outgoing.writableFinished) outgoing.destroy();
}

/**
 * Over TLS we hear a turn too late that something has left, when it may have been answered already. So after an answer we wait for
 * that, for this many turns. Otherwise, of four uploads side by side, every second one cost an https target a new connection.
 */
const lateTurns = 3;
