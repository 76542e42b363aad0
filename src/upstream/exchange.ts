/** What an exchange reports about itself while it goes on, in time for the log line that ends it; how it ended is here too. */
export interface Progress {
  /** Whether any of the request has left for an upstream. */
  sent: boolean;
  /** The status of the upstream's answer, once its head is on the way to the client. */
  answered: number | undefined;
  /** In units, if the upstream gave a number in the route's cost header. */
  cost: number | undefined;
  /** From sending the request to the head of the answer. */
  upstreamMs: number | undefined;
  /** What the client sent after its protocol was switched; the bytes of a body are counted where it is read. */
  bytesIn: number;
  bytesOut: number;
  /** Who broke it off; `gateway` is set before the gateway cuts the client's connection. */
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
   * Called once the whole answer is here, before its end goes to the client: the client's next request may reach another process,
   * so the shared place must be free by then. Undefined if there is none.
   */
  readonly whenWhole: (() => void) | undefined;
}

/** Is told how an exchange goes on. */
export interface ExchangeListener {
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
  /** True when a kept connection was closed without a byte of answer, as happens to an idle one that the upstream has just given up. */
  readonly silent: boolean;
  /** True when it never had a connection to try: others held all of the target's to the end. */
  readonly inLine: boolean;
  override readonly cause: Error;

  constructor(cause: Error, { sent = false, silent = false, inLine = false } = {}) {
    super(cause.message);
    this.name = 'ExchangeFailed';
    this.cause = cause;
    this.sent = sent;
    this.silent = silent;
    this.inLine = inLine;
  }
}
