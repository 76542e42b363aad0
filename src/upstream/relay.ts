import type { ServerResponse } from 'node:http';
import { breakOff } from '../wire/break-off.ts';
import type { AnswerListener } from './answer-reader.ts';
import { writeAnswerHead } from './answer-head.ts';
import type { UpstreamConfig } from '../config/config.ts';
import { GatheringWriter } from './gathering-writer.ts';
import { takeHeader } from '../wire/headers.ts';
import { ExchangeFailed, type Outcome, type Progress } from './exchange.ts';
import { ClientGone, NonsenseAnswer, ResponseTimeout, Stalled } from './failures.ts';
import { Refusal } from '../refusals.ts';
import type { Guest, Seats } from './seats.ts';
import { sendHead } from '../wire/send-head.ts';
import { whenAllIsRead } from '../waiting/when-all-is-read.ts';

export interface RelayParts {
  /** The gateway's own headers for the answer. It is asked for them when that is there. */
  readonly own: () => readonly string[];
  readonly costHeader: string | undefined;
  readonly progress: Progress;
  /** Without `responseMs` somebody else waits for the head. */
  readonly timeouts: Pick<UpstreamConfig['timeouts'], 'idleMs'> & { readonly responseMs?: number };
  /** Where the relay has its seat, or waits for one. */
  readonly seats: Seats;
  readonly settle: Settle;
}

/** Where an answer comes from. */
export interface AnswerSource {
  pause(): void;
  resume(): void;
  /** Ends it with its connection. */
  abort(reason: Error): void;
  /** Whether this failure says no more than that a connection which was kept from earlier requests is closed. */
  isStale(error: Error): boolean;
}

interface Settle {
  /** The head of the answer has come. */
  readonly begin: () => void;
  resolve(outcome: Outcome): void;
  reject(failure: ExchangeFailed): void;
}

/**
 * Passes one answer of an upstream on to one client, with backpressure, and folds the many ways an exchange can end into
 * exactly one: an Outcome, or ExchangeFailed while the client has seen nothing yet.
 * An answer that breaks off is never ended as if it were whole: the client's connection is destroyed.
 */
export class Relay implements AnswerListener, Guest {
  seat: Guest['seat'];
  spot: Guest['spot'];
  readonly #res: ServerResponse;
  readonly #own: () => readonly string[];
  readonly #costHeader: string | undefined;
  readonly #progress: Progress;
  readonly #seats: Seats;
  readonly #settle: Settle;
  #startedAt = 0;
  readonly #timeouts: RelayParts['timeouts'];
  #deadline: NodeJS.Timeout | undefined;
  /** Begins anew with each piece of an answer that comes in pieces. */
  #patience: NodeJS.Timeout | undefined;
  /** Every response closes, mostly after its end: an error made for each of them was 3 % of the CPU of a name call. */
  readonly #onClose = (): void => {
    if (!this.#over) this.#giveUp(new ClientGone());
  };
  /** Undefined before there is a connection, and as soon as it is done with this request. */
  #source: AnswerSource | undefined;
  #over = false;
  #hasLeft = false;
  /** All of it has left. Before that it is the body that is waited for, also when an answer has begun. */
  #sent = false;
  /** The client takes nothing, so it is not the upstream that is waited for. */
  #paused = false;
  /** What has come of the answer's head. */
  #head: { readonly status: number; readonly raw: readonly string[] } | undefined;
  /** The head is on its way to the client; until then there can still be a refusal. */
  #begun = false;
  /** All of the answer has come; the client may still leave before it is sent. */
  #complete = false;
  /** Once all is dealt with that came with the head, what comes is written at once. */
  #flowing = false;
  /** What has come is sent at the end of this turn. */
  #isDue = false;
  /** The start of the body, which until then may turn out to be all of it. */
  #held: Buffer | undefined;
  /** All that is not held. */
  #body: GatheringWriter | undefined;

  constructor(res: ServerResponse, { own, costHeader, progress, timeouts, seats, settle }: RelayParts) {
    this.#res = res;
    this.#own = own;
    this.#costHeader = costHeader;
    this.#progress = progress;
    this.#timeouts = timeouts;
    this.#seats = seats;
    this.#settle = settle;
    res.on('close', this.#onClose);
  }

  /** Its time for a connection begins, and later that for the head of its answer. An upstream that sends 1xx for ever puts off neither. */
  startClock(): void {
    this.#startedAt = performance.now();
    const { responseMs } = this.#timeouts;
    if (responseMs === undefined) return;
    if (this.#deadline === undefined)
      this.#deadline = setTimeout(() => this.#lookForHead(responseMs), responseMs);
    else this.#deadline.refresh();
  }

  connected(source: AnswerSource): void {
    this.#source = source;
    this.startClock();
  }

  /** From here on something of it may have reached the upstream. */
  requestLeaves(): void {
    this.#hasLeft = true;
    this.#progress.sent = true;
  }

  /** Of this try: an earlier one may have. */
  get hasLeft(): boolean {
    return this.#hasLeft;
  }

  /** All of it has left: from here on it is the upstream that takes its time. */
  requestSent(): void {
    this.#sent = true;
    this.#startedAt = performance.now();
    if (this.#flowing) this.#expectMore();
  }

  /** Given up, or over: it takes no answer any more. */
  get isOver(): boolean {
    return this.#over;
  }

  answerBegins(status: number, raw: readonly string[]): void {
    if (this.#over) return;
    clearTimeout(this.#deadline);
    this.#progress.upstreamMs = performance.now() - this.#startedAt;
    this.#head = { status, raw };
    this.#settle.begin();
    // The head of a stream must not wait for its first event; with a body in the same packet one write carries both.
    this.#sendLater();
  }

  answerGoesOn(chunk: Buffer): void {
    if (this.#over) return;
    const isFirst = this.#progress.bytesOut === 0;
    this.#progress.bytesOut += chunk.length;
    if (isFirst && !this.#flowing && chunk.length <= heldBytesMax) {
      this.#held = chunk;
      return;
    }
    this.#startFlowing();
    this.#write(chunk);
  }

  /** All of the answer has come. */
  answerEnded(): void {
    if (this.#over) return;
    this.#complete = true;
    this.#source = undefined;
    this.#sendLater();
  }

  #sendLater(): void {
    if (this.#isDue) return;
    this.#isDue = true;
    whenAllIsRead(() => {
      this.#isDue = false;
      if (this.#complete) this.#finish();
      else this.#startFlowing();
    });
  }

  /** The answer broke, or there will be none. */
  answerFailed(error: Error): void {
    // What becomes of a connection behind a whole answer is no concern of its client.
    if (!this.#complete) this.#fail(error);
  }

  #finish(): void {
    if (!this.#begin()) return;
    this.#stop();
    // One string of head and body costs one write of text, which is much less than one of a list of buffers.
    this.#body?.flush();
    if (this.#held === undefined) this.#res.end();
    else this.#res.end(this.#held.toString('latin1'), 'latin1');
    this.#settle.resolve({ status: this.#res.statusCode, cut: undefined });
  }

  /** Gives the head to the client's response. False when there is no answer to pass on, or no longer. */
  #begin(): boolean {
    if (this.#over || this.#head === undefined) return false;
    if (this.#begun) return true;
    const { status, raw } = this.#head;
    try {
      writeAnswerHead(this.#res, status, { raw: this.takeCost(raw), own: this.#own() });
    } catch (error) {
      this.#giveUp(error instanceof Error ? error : new NonsenseAnswer('an unknown fault'));
      return false;
    }
    this.#begun = true;
    this.#progress.answered = status;
    return true;
  }

  /** What the upstream says of the cost is for us; the rest is for the client. */
  takeCost(raw: readonly string[]): readonly string[] {
    if (this.#costHeader === undefined) return raw;
    const { value, rest } = takeHeader(raw, this.#costHeader);
    this.#progress.cost = readUnits(value);
    return rest;
  }

  /** Ends the exchange for a reason of ours, such as a body that broke its rule while it was sent. */
  breakOff(reason: Error): void {
    this.#giveUp(reason);
  }

  /** The client's connection is no longer this relay's: its protocol was switched, and that was the answer. */
  handOver(): void {
    this.#settle.begin();
    this.#progress.upstreamMs = performance.now() - this.#startedAt;
    this.#progress.answered = 101;
    this.#stop();
  }

  /** Sends what has come of the answer. */
  #startFlowing(): void {
    if (this.#flowing || this.#complete || !this.#begin()) return;
    this.#flowing = true;
    if (this.#held !== undefined) this.#write(this.#held);
    if (this.#progress.bytesOut === 0 && !this.#res.destroyed) sendHead(this.#res);
    this.#held = undefined;
    this.#expectMore();
  }

  #write(chunk: Buffer): void {
    if (this.#over) return;
    this.#body ??= new GatheringWriter(this.#res);
    if (this.#body.write(chunk)) return this.#expectMore();
    if (this.#paused) return; // what had been read of TLS before it stopped still comes
    this.#paused = true;
    this.#expectNothing();
    this.#source?.pause();
    this.#res.once('drain', () => this.#goOn());
  }

  #goOn(): void {
    this.#paused = false;
    this.#expectMore();
    this.#source?.resume();
  }

  /** Ends the exchange from our side. */
  #giveUp(reason: Error): void {
    if (this.#over) return;
    this.#fail(reason);
    this.#source?.abort(reason);
    this.#source = undefined;
  }

  /** What came while the process was held up came in time: an answer, or the connection that was waited for. */
  #lookForHead(responseMs: number): void {
    const since = this.#startedAt;
    whenAllIsRead(() => {
      if (this.#head === undefined && since === this.#startedAt)
        this.#giveUp(new ResponseTimeout(responseMs));
    });
  }

  /**
   * Nearly every answer is whole in one turn of the event loop and needs no timer. With one for each, kept for a while, the old
   * generation filled up three times as fast.
   */
  #expectMore(): void {
    if (this.#over || this.#paused || !this.#sent) return;
    if (this.#patience === undefined)
      this.#patience = setTimeout(() => this.#lookForMore(), this.#timeouts.idleMs);
    else this.#patience.refresh();
  }

  #lookForMore(): void {
    const { bytesOut } = this.#progress;
    whenAllIsRead(() => {
      if (!this.#complete && bytesOut === this.#progress.bytesOut)
        this.#giveUp(new Stalled(`nothing more of the answer within ${this.#timeouts.idleMs} ms`));
    });
  }

  #expectNothing(): void {
    clearTimeout(this.#patience);
    this.#patience = undefined;
  }

  #fail(error: Error): void {
    if (this.#over) return;
    if (this.#begun && this.#progress.answered !== undefined) {
      const byClient = error instanceof ClientGone || error instanceof Refusal;
      const cut = this.#progress.cut ?? (byClient ? 'client' : 'upstream');
      this.#progress.cut = cut;
      if (cut !== 'gateway') this.#progress.cause = error;
      this.#stop();
      breakOff(this.#res);
      this.#settle.resolve({ status: this.#res.statusCode, cut });
      return;
    }
    this.#progress.bytesOut = 0; // what was held is not sent any more
    const silent = this.#source?.isStale(error) ?? false;
    this.#stop();
    this.#res.off('close', this.#onClose); // another try may follow; after the last the two end together
    const sent = this.#hasLeft;
    const inLine = this.#seats.giveUp(this);
    const inTime = inLine || this.seat === 'after a wait';
    const waited = !sent && !silent && inTime && error instanceof ResponseTimeout;
    this.#settle.reject(new ExchangeFailed(error, { sent, silent, inLine, waited }));
  }

  #stop(): void {
    this.#over = true;
    clearTimeout(this.#deadline);
    this.#expectNothing();
  }
}

/** A larger body is worth a write of its own. */
const heldBytesMax = 16 * 1024;

/** Far above what is charged, so that a number of any length can be counted on with. */
const unitsMax = 1e15;

/** Anything but plain digits is no cost: what the upstream says is hostile too. */
function readUnits(text: string | undefined): number | undefined {
  return text !== undefined && /^[ \t]*\d+[ \t]*$/.test(text) ? Math.min(Number(text), unitsMax) : undefined;
}
