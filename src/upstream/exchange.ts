/** What an exchange tells of itself while it goes on, in time for the log line that ends it; how it ended stands here too. */
export interface Progress {
  /** Whether any of the request has left for an upstream. */
  sent: boolean;
  /** The status of the upstream's answer, once its head is on the way to the client. */
  answered: number | undefined;
  /** Units, when the upstream said a number in the route's cost header. */
  cost: number | undefined;
  /** From the request sent to the head of the answer. */
  upstreamMs: number | undefined;
  /** What a client said after its protocol was switched; the bytes of a body are told where it is read. */
  bytesIn: number;
  bytesOut: number;
  /** Who broke off; `gateway` is set before the gateway cuts the client's connection. */
  cut: 'client' | 'upstream' | 'gateway' | undefined;
  cause: unknown;
}

/** What the gateway adds to an answer, takes out of it, and does when it is whole. */
export interface AnswerParts {
  /** The gateway's own headers for it, asked for once its head is there. */
  readonly ourHeaders: () => readonly string[];
  /** Folded name of the header that is read and taken out of it. */
  readonly costHeader: string | undefined;
  /**
   * Called once the whole answer is here, before the client is sent the end of it: the client's next request may reach another process,
   * which must find free what this one holds for it. Undefined where it holds nothing of the kind.
   */
  readonly whenWhole: (() => void) | undefined;
}

/** Is told how an exchange goes on. */
export interface Settle {
  /** The head of the answer has come. */
  begin(): void;
  /** It is over; the progress tells how. */
  resolve(): void;
  reject(failure: ExchangeFailed): void;
}

/** An exchange that failed before any of an answer reached the client, so another target or a refusal can follow. */
export class ExchangeFailed extends Error {
  /** False when nothing of the request had left for the upstream. */
  readonly sent: boolean;
  /** True when a kept connection was closed without a byte of answer, as an idle one is that the upstream had just given up. */
  readonly silent: boolean;
  /** True when others had all of the target's connections to the end: it never had one to try. */
  readonly inLine: boolean;
  /** True when its time went by in that line, or just after it: no word against the target. */
  readonly waited: boolean;
  override readonly cause: Error;

  constructor(cause: Error, { sent = false, silent = false, inLine = false, waited = false } = {}) {
    super(cause.message);
    this.name = 'ExchangeFailed';
    this.cause = cause;
    this.sent = sent;
    this.silent = silent;
    this.inLine = inLine;
    this.waited = waited;
  }
}
