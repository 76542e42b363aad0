/** Has one after another do something that takes its time. */
export class Turns {
  readonly #waiting: (() => void)[] = [];
  #isTaken = false;

  take(begin: () => void): void {
    if (this.#isTaken) this.#waiting.push(begin);
    else {
      this.#isTaken = true;
      begin();
    }
  }

  end(): void {
    const next = this.#waiting.shift();
    if (next === undefined) this.#isTaken = false;
    else next();
  }
}
