import { whenAllIsRead } from './when-all-is-read.ts';

/**
 * Does what it is given when all is read, first come, first served, and only so much in one turn of the event loop: the rest is done
 * in the turns that follow.
 */
export class FewAtATime {
  readonly #perTurn: number;
  readonly #tasks: (() => void)[] = [];
  #isPlanned = false;

  constructor(perTurn: number) {
    this.#perTurn = perTurn;
  }

  add(task: () => void): void {
    this.#tasks.push(task);
    this.#plan();
  }

  #plan(): void {
    if (this.#isPlanned || this.#tasks.length === 0) return;
    this.#isPlanned = true;
    whenAllIsRead(() => this.#doSome());
  }

  #doSome(): void {
    this.#isPlanned = false;
    for (const task of this.#tasks.splice(0, this.#perTurn)) task();
    this.#plan();
  }
}
