import type { IncomingMessage } from 'node:http';
import type { ArrivalRule } from '../config/config.ts';
import { printSize } from '../config/units.ts';
import { Refusal } from '../refusals.ts';
import type { Visit } from '../visit.ts';
import { afterReading } from '../waiting/when-all-is-read.ts';
import { bodyBroken, brokenBy } from '../wire/broken-body.ts';

/** The chunks of a body, for one reader. */
type Chunks = Required<
  Pick<AsyncIterableIterator<Buffer, void>, 'next' | 'return' | typeof Symbol.asyncIterator>
>;

/** The chunks of a body that is being read, for one who may end the reading. */
export type Arriving = AsyncIterable<Buffer> & Pick<ArrivingBody, 'stop'>;

/** How a body is read. */
interface ReadingRule extends ArrivalRule {
  /** The refusal of a body that takes longer than it may. */
  readonly tooSlow: 'request_timeout' | 'upload_too_slow';
  /** Counts what has come. */
  readonly visit: Pick<Visit, 'bytesIn'>;
}

/** The time over which the rate is measured. */
const windowMs = 5000;

/**
 * Reads a request's body chunk by chunk, and no faster than it is taken, but for two chunks. Refuses with `client_gone`, with the
 * rule's `tooSlow` when all of it takes too long, and with `upload_too_slow` when it is too slow for five seconds. Only the time spent
 * waiting for the client counts, so nobody pays for a slow upstream. Stopping early leaves the request open, to be answered.
 */
export class ArrivingBody implements Chunks {
  readonly #req: IncomingMessage;
  readonly #rule: ReadingRule;
  readonly #chunks: Buffer[] = [];
  #state: 'unread' | 'reading' | 'over' = 'unread';
  #ended = false;
  #failure: Refusal | undefined;
  #wake: (() => void) | undefined;
  /** How long the client has been waited for, and the instant up to which that is counted. */
  #waitedMs = 0;
  #countedAt = 0;
  #stopTimer: (() => void) | undefined;
  /** The running window: how long the client will have been waited for when it ends, and what it sent. */
  #windowEndMs = windowMs;
  #windowBytes = 0;

  constructor(req: IncomingMessage, rule: ReadingRule) {
    this.#req = req;
    this.#rule = rule;
  }

  async next(): Promise<IteratorResult<Buffer, void>> {
    if (this.#state === 'unread') this.#listen();
    if (this.#state === 'reading' && this.#chunks.length === 0) await this.#wait();
    // What came before a failure is useless: the body will not be whole.
    if (this.#failure !== undefined) {
      this.#close();
      throw this.#failure;
    }
    const value = this.#chunks.shift();
    if (value !== undefined) return { done: false, value };
    this.#close();
    return over;
  }

  async return(): Promise<IteratorResult<Buffer, void>> {
    this.#close();
    return over;
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  /**
   * Ends the reading, begun or not: a reader that waits for a chunk gets an error at once, and the rest of the request is
   * discarded.
   */
  stop(): void {
    this.#fail(new Refusal('internal', { detail: 'the body was no longer wanted' }));
    this.#close();
  }

  #listen(): void {
    this.#state = 'reading';
    const req = this.#req;
    // Node emits an error of a request only where somebody listens for one, and then as well that it has closed.
    req.on('data', this.#take).on('end', this.#end).on('close', this.#leave).on(bodyBroken, this.#fail);
    const reason = brokenBy(req);
    if (reason !== undefined) this.#fail(reason);
    if (req.destroyed) this.#leave();
  }

  #close(): void {
    const begun = this.#state === 'reading';
    this.#state = 'over';
    if (!begun) return;
    const req = this.#req;
    req.off('data', this.#take).off('end', this.#end).off('close', this.#leave).off(bodyBroken, this.#fail);
    this.#chunks.length = 0;
    // A paused request would not flow, so nobody could discard the rest.
    if (!this.#ended) req.resume();
  }

  readonly #take = (chunk: Buffer): void => {
    this.#chunks.push(chunk);
    this.#windowBytes += chunk.length;
    this.#rule.visit.bytesIn += chunk.length;
    // Nearly always its reader waits already: to pause at each and go on again is a dozen calls and two ticks (record 27).
    if (this.#chunks.length > 1) this.#req.pause();
    this.#wake?.();
  };

  readonly #end = (): void => {
    this.#ended = true;
    this.#wake?.();
  };

  readonly #leave = (): void => {
    if (!this.#ended) this.#fail(new Refusal('client_gone'));
  };

  readonly #fail = (refusal: Refusal): void => {
    this.#failure ??= refusal;
    this.#wake?.();
  };

  async #wait(): Promise<void> {
    if (this.#ended || this.#failure !== undefined) return;
    this.#countedAt = performance.now();
    this.#setTimer();
    this.#req.resume();
    await new Promise<void>((resolve) => {
      this.#wake = resolve;
    });
    this.#wake = undefined;
    this.#stopTimer?.();
    this.#countWait();
  }

  #countWait(): void {
    const now = performance.now();
    this.#waitedMs += now - this.#countedAt;
    this.#countedAt = now;
  }

  /** Until the window or the time for all of the body ends. */
  #setTimer(): void {
    const untilMs = Math.min(this.#windowEndMs, this.#rule.timeoutMs);
    // After a standstill it may be over already, though a chunk came.
    this.#stopTimer = afterReading(Math.max(untilMs - this.#waitedMs, 1), this.#judgeLate);
  }

  /** If the process stood still, bytes that came in time may only now be read: judged after that, their client is not late. */
  readonly #judgeLate = (): void => {
    this.#countWait();
    this.#judge();
    if (this.#failure === undefined) this.#setTimer();
  };

  #judge(): void {
    if (this.#waitedMs >= this.#rule.timeoutMs) this.#fail(late(this.#rule));
    if (this.#waitedMs >= this.#windowEndMs) this.#closeWindow();
  }

  #closeWindow(): void {
    const { bytesPerSecondMin } = this.#rule;
    if (this.#windowBytes * 1000 < bytesPerSecondMin * windowMs) {
      const rate = printSize(bytesPerSecondMin);
      this.#fail(
        new Refusal('upload_too_slow', { message: `The request body must arrive at ${rate} per second` }),
      );
    }
    this.#windowEndMs = this.#waitedMs + windowMs;
    this.#windowBytes = 0;
  }
}

function late({ tooSlow, timeoutMs }: ReadingRule): Refusal {
  if (tooSlow === 'request_timeout') return new Refusal('request_timeout');
  const seconds = Math.round(timeoutMs / 100) / 10;
  return new Refusal(tooSlow, { message: `The request body must arrive within ${seconds} s` });
}

const over: IteratorReturnResult<void> = { done: true, value: undefined };
