/** Tells of what is wrong with a target once until that is over, and not too often: one that flickers must not fill the log. */
export class Notice {
  #isTold = false;
  #toldAt = -Infinity;

  begin(tell: () => void): void {
    const now = performance.now();
    if (this.#isTold || now - this.#toldAt < quietMs) return;
    this.#isTold = true;
    this.#toldAt = now;
    tell();
  }

  /** Tells only if the beginning was told. */
  end(tell: () => void): void {
    if (!this.#isTold) return;
    this.#isTold = false;
    tell();
  }
}

const quietMs = 5000;
