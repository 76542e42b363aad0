import type { ServerResponse } from 'node:http';
import type { UpstreamConfig } from '../config/config.ts';
import { costMax } from '../config/plan-rule.ts';
import { Refusal } from '../refusals.ts';
import { Countdown } from '../waiting/countdown.ts';
import { whenAllIsRead } from '../waiting/when-all-is-read.ts';
import { breakOff } from '../wire/break-off.ts';
import { takeHeader } from '../wire/headers.ts';
import { sendHead } from '../wire/send-head.ts';
import type { AnswerListener } from './answer-reader.ts';
import { type AnswerParts, ExchangeFailed, type ExchangeListener, type Progress } from './exchange.ts';
import { ClientGone, errorOf, LineTimeout, ResponseTimeout, Stalled } from './failures.ts';
import { GatheringWriter } from './gathering-writer.ts';
import type { Guest, Seats } from './seats.ts';
import { writeAnswerHead, writeSwitch } from './write-answer-head.ts';

/** What a lane is given for each exchange. */
export interface LaneParts extends AnswerParts {
  readonly progress: Progress;
  readonly listener: ExchangeListener;
}

/** What an answer is held to. */
interface AnswerBounds {
  readonly timeouts: Pick<UpstreamConfig['timeouts'], 'responseMs' | 'idleMs'>;
  /** Where the relay has its seat, or waits for one. */
  readonly seats: Seats;
  /** Called before the listener is told how it ended. */
  readonly whenOver?: () => void;
}

/** Where an answer comes from. */
export interface AnswerSource {
  pause(): void;
  resume(): void;
  /** Ends the answer and its connection, where `whenOver` does not. */
  abort?(reason: Error): void;
  /** Whether this failure means only that a connection kept from earlier requests has closed. */
  isStale(error: Error): boolean;
}

/**
 * How far the answer has come. `begun`: its head is here, and is sent at the end of this turn, with all of the body if that is here
 * by then. `flowing`: its head has been sent, and each piece is sent as it comes. `whole`: all of it is here, and its end is sent
 * at the end of this turn. `over`: nothing more of it is taken.
 */
type AnswerState = 'awaited' | 'begun' | 'flowing' | 'whole' | 'over';

/**
 * Passes one answer of an upstream on to one client, with backpressure, and folds the many ways an exchange can end into exactly
 * one: its end, or ExchangeFailed while the client has seen nothing yet.
 * An answer that breaks off is never ended as if it were whole: the client's connection is destroyed.
 */
export class Relay implements AnswerListener, Guest {
  hasSeat = false;
  spot: Guest['spot'];
  readonly #res: ServerResponse;
  readonly #parts: LaneParts;
  readonly #progress: Progress;
  readonly #bounds: AnswerBounds;
  /** Set once the head is waited for, or a seat. */
  #headTime: Countdown | undefined;
  /**
   * Set once the next piece is waited for. Nearly every answer is whole in one turn of the event loop and needs no timer: with one
   * for each, kept for a while, the old generation filled up three times as fast.
   */
  #pieceTime: Countdown | undefined;
  /** When the upstream's time began: once all of the request has left, with that. */
  #startedAt = 0;
  /** Every response closes, mostly after its end: an error made for each took 3 % of the CPU of a name call. */
  readonly #onClose = (): void => {
    if (this.#state !== 'over') this.breakOff(new ClientGone());
  };
  /** Undefined until there is a connection, and again once that is done with this request. */
  #source: AnswerSource | undefined;
  /** How much of the request has left. Until all of it has, we wait for the body, even if an answer has begun. */
  #left: 'nothing' | 'some' | 'all' = 'nothing';
  #state: AnswerState = 'awaited';
  /** The client takes nothing, so it is not the upstream we wait for. */
  #isPaused = false;
  #status = 0;
  #raw: readonly string[] | undefined;
  /** The start of the body, which may turn out to be all of it. */
  #held: Buffer | undefined;
  /** Writes everything that is not held. */
  #body: GatheringWriter | undefined;

  constructor(res: ServerResponse, parts: LaneParts, bounds: AnswerBounds) {
    this.#res = res;
    this.#parts = parts;
    this.#progress = parts.progress;
    this.#bounds = bounds;
    res.on('close', this.#onClose);
  }

  /** Calls `start` once it has a seat. It waits in line for one for as long as for an answer. */
  takeSeat(start: () => void): void {
    this.#bounds.seats.take(this, start);
    if (!this.hasSeat) this.#startClock();
  }

  /** An upstream that sends 1xx for ever does not put off the end of this time. */
  #startClock(): void {
    this.#startedAt = performance.now();
    this.#headTime ??= new Countdown(this.#bounds.timeouts.responseMs, () => this.#endLate());
    this.#headTime.start();
  }

  /** While a connection is being made somebody else times it. */
  #endLate(): void {
    const { responseMs } = this.#bounds.timeouts;
    if (this.hasLeft) this.breakOff(new ResponseTimeout(responseMs));
    else if (!this.hasSeat) this.breakOff(new LineTimeout(responseMs));
  }

  connected(source: AnswerSource): void {
    this.#source = source;
    this.#headTime?.pause(); // what is waited for now may be the client's to send
    this.#startedAt = performance.now();
    this.#parts.listener.connected();
  }

  /** From here on some of the request may have reached the upstream. */
  requestLeaves(): void {
    this.#left = 'some';
    this.#progress.sent = true;
  }

  /** Whether any of this try has left; some of an earlier one may have left too. */
  get hasLeft(): boolean {
    return this.#left !== 'nothing';
  }

  requestSent(): void {
    this.requestLeaves();
    this.#left = 'all';
    if (this.#state === 'awaited') this.#startClock();
    else if (this.#state === 'flowing') this.#expectMore();
  }

  /** Finished or given up: it takes no more of an answer. */
  get isOver(): boolean {
    return this.#state === 'over';
  }

  answerBegins(status: number, raw: readonly string[]): void {
    this.#state = 'begun';
    this.#status = status;
    this.#raw = raw;
    this.#headTime?.end();
    this.#progress.upstreamMs = performance.now() - this.#startedAt;
    this.#parts.listener.begin();
    // The head of a stream must not wait for its first event; with a body in the same packet one write carries both.
    whenAllIsRead(() => {
      if (this.#state !== 'whole') this.#startFlowing();
      else if (this.#parts.whenWhole === undefined) this.#finish();
    });
  }

  answerGoesOn(chunk: Buffer): void {
    if (this.#state === 'over') return;
    const isFirst = this.#progress.bytesOut === 0;
    this.#progress.bytesOut += chunk.length;
    if (isFirst && this.#state === 'begun' && chunk.length <= heldChunkMax) {
      this.#held = chunk;
      return;
    }
    this.#startFlowing();
    this.#write(chunk);
  }

  answerEnded(): void {
    if (this.#state === 'over') return;
    // An answer that waits for others on its connection is far from its end.
    if (this.#res.socket !== null) this.#parts.whenWhole?.();
    // An answer that began in this turn is sent at its end anyway, but perhaps before what `whenWhole` has just asked of a store.
    if (this.#state === 'flowing' || this.#parts.whenWhole !== undefined) whenAllIsRead(() => this.#finish());
    this.#state = 'whole';
    this.#pieceTime?.end();
    this.#source = undefined;
  }

  /** The answer is a switch of protocols: from here on the client's connection is no longer this relay's. */
  answerSwitches(raw: readonly string[]): void {
    writeSwitch(this.#res, { raw: this.#takeCost(raw), ourHeaders: this.#parts.ourHeaders() });
    this.#progress.upstreamMs = performance.now() - this.#startedAt;
    this.#parts.listener.begin();
    this.#progress.answered = 101;
    this.#headTime?.end();
    this.#state = 'over';
  }

  /** The answer broke off, or there will be none. Not for what happens to a connection after a whole answer. */
  answerFailed(error: Error): void {
    if (this.#state === 'over') return;
    if (this.#progress.answered === undefined) this.#failUnseen(error);
    else this.#cutShort(error);
  }

  #finish(): void {
    if (!this.#giveHead()) return;
    this.#stop();
    this.#body?.flush();
    if (this.#held === undefined) this.#res.end();
    // Head and body as one string cost one write of text, much less than the write of a list of buffers.
    else this.#res.end(this.#held.toString('latin1'), 'latin1');
    this.#parts.listener.resolve();
  }

  /** Gives the head to the client's response, once. False when there is none to give; until it is given there can still be a refusal. */
  #giveHead(): boolean {
    const raw = this.#raw;
    if (this.#state === 'over' || raw === undefined) return false;
    if (this.#progress.answered !== undefined) return true;
    try {
      const parts = { raw: this.#takeCost(raw), ourHeaders: this.#parts.ourHeaders() };
      writeAnswerHead(this.#res, this.#status, parts);
    } catch (error) {
      this.breakOff(errorOf(error));
      return false;
    }
    this.#progress.answered = this.#status;
    return true;
  }

  /** What the upstream says about the cost is for us; the rest is for the client. */
  #takeCost(raw: readonly string[]): readonly string[] {
    const { costHeader } = this.#parts;
    if (costHeader === undefined) return raw;
    const { value, rest } = takeHeader(raw, costHeader);
    this.#progress.cost = readUnits(value);
    return rest;
  }

  /** It waits in line at a target that cannot be used, so another may take it. */
  turnAway(reason: Error): void {
    this.answerFailed(reason);
  }

  /** Ends the exchange from our side, for example when a body broke its rule while it was being sent. */
  breakOff(reason: Error): void {
    if (this.#state === 'over') return;
    this.answerFailed(reason);
    this.#source?.abort?.(reason);
    this.#source = undefined;
  }

  #startFlowing(): void {
    if (this.#state !== 'begun' || !this.#giveHead()) return;
    this.#state = 'flowing';
    if (this.#held !== undefined) this.#write(this.#held);
    if (this.#progress.bytesOut === 0) sendHead(this.#res);
    this.#held = undefined;
    this.#expectMore();
  }

  #write(chunk: Buffer): void {
    if (this.#state === 'over') return;
    this.#body ??= new GatheringWriter(this.#res);
    if (this.#body.write(chunk)) return this.#expectMore();
    if (this.#isPaused) return; // what TLS had read before it stopped still comes
    this.#isPaused = true;
    this.#pieceTime?.pause();
    this.#source?.pause();
    this.#res.once('drain', () => this.#goOn());
  }

  #goOn(): void {
    this.#isPaused = false;
    this.#expectMore();
    this.#source?.resume();
  }

  #expectMore(): void {
    if (this.#state !== 'flowing' || this.#isPaused || this.#left !== 'all') return;
    const { idleMs } = this.#bounds.timeouts;
    this.#pieceTime ??= new Countdown(idleMs, () =>
      this.breakOff(new Stalled(`nothing more of the answer within ${idleMs} ms`)),
    );
    this.#pieceTime.start();
  }

  /** The client has seen part of the answer, and must see that it broke off. */
  #cutShort(error: Error): void {
    if (this.#progress.cut !== 'gateway') {
      this.#progress.cut ??= whoBroke(error);
      this.#progress.cause = error;
    }
    this.#stop();
    breakOff(this.#res);
    this.#parts.listener.resolve();
  }

  /** The client has seen nothing, so another try or a refusal can follow. */
  #failUnseen(error: Error): void {
    this.#progress.bytesOut = 0; // what was held is no longer sent
    const silent = this.#source?.isStale(error) ?? false;
    this.#stop();
    this.#res.off('close', this.#onClose); // each further try would leave another behind
    const sent = this.hasLeft;
    const inLine = this.#bounds.seats.giveUp(this);
    this.#parts.listener.reject(new ExchangeFailed(error, { sent, silent, inLine }));
  }

  #stop(): void {
    this.#state = 'over';
    this.#headTime?.end();
    this.#pieceTime?.end();
    this.#bounds.whenOver?.();
  }
}

/** A body that breaks a rule is its client's fault, and one that we cannot read any more is ours. */
function whoBroke(error: Error): 'client' | 'upstream' | 'gateway' {
  if (error instanceof Refusal) return error.code === 'internal' ? 'gateway' : 'client';
  return error instanceof ClientGone ? 'client' : 'upstream';
}

/** A larger body is worth a write of its own. */
const heldChunkMax = 16 * 1024;

/** Anything but plain digits is no cost: an upstream may be hostile too. Capped here, the log tells what is charged. */
function readUnits(text: string | undefined): number | undefined {
  return text !== undefined && /^[ \t]*\d+[ \t]*$/.test(text) ? Math.min(Number(text), costMax) : undefined;
}
