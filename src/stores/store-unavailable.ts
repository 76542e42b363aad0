/** The store did not answer, or answered that it cannot. What was asked may have happened. */
export class StoreUnavailable extends Error {
  readonly code = 'STORE_UNAVAILABLE';
  /** False when the call surely changed nothing: it was never sent, or the store refused it. */
  readonly mayHaveHappened: boolean;
  /** True when it may answer in a moment, as a restarting server does. */
  readonly isTemporary: boolean;

  constructor(
    message: string,
    options: { cause?: unknown; mayHaveHappened: boolean; isTemporary?: boolean | undefined },
  ) {
    super(message, { cause: options.cause });
    this.name = 'StoreUnavailable';
    this.mayHaveHappened = options.mayHaveHappened;
    this.isTemporary = options.isTemporary ?? false;
  }
}

/** The error of a call that surely changed nothing. */
export function unavailable(message: string): StoreUnavailable {
  return new StoreUnavailable(message, { mayHaveHappened: false });
}

/** What was thrown while something was only read: whatever became of it, nothing was changed. */
export function withNothingChanged(error: unknown): unknown {
  if (!(error instanceof StoreUnavailable && error.mayHaveHappened)) return error;
  return new StoreUnavailable(error.message, { cause: error, mayHaveHappened: false });
}

/** The store answered, but what it holds there was not written by us. Other keys are not affected. */
export class Unreadable extends StoreUnavailable {
  constructor(message: string) {
    super(message, { mayHaveHappened: false });
  }
}

/** A damaged record of one key says nothing about the others. */
export function isOutage(error: unknown): boolean {
  return error instanceof StoreUnavailable && !(error instanceof Unreadable);
}

/** Undefined for what cannot be read, so that it hides nothing else. */
export async function ifReadable<T>(asked: Promise<T>): Promise<T | undefined> {
  try {
    return await asked;
  } catch (error) {
    if (error instanceof Unreadable) return undefined;
    throw error;
  }
}
