import type { Visit } from '../visit.ts';

/** What an exchange reports about itself while it goes on, in time for the log line that ends it; how it ended is here too. */
export type Progress = Pick<
  Visit,
  'sent' | 'answered' | 'cost' | 'upstreamMs' | 'bytesIn' | 'bytesOut' | 'cut' | 'cause'
>;

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
  /** It has a connection, new or kept. */
  connected(): void;
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
