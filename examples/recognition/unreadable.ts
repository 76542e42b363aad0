/** What a caller sent cannot be read. The message is the sentence of the answer. */
export class Unreadable extends Error {
  readonly status: 400 | 413 | 415;

  constructor(status: 400 | 413 | 415, message: string) {
    super(message);
    this.status = status;
  }
}
