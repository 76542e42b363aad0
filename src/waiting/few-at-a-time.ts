import { whenAllIsRead } from './when-all-is-read.ts';

/**
 * Does what it is given when all is read, first come, first served, and only so much in one turn of the event loop: the rest is done
 * in the turns that follow.
 */
export class FewAtATime {
  readonly #perTurn: number;
  /** Where there are any, a turn is planned in which the first are done. */
  readonly #tasks: (() => void)[] = [];

  constructor(perTurn: number) {
    this.#perTurn = perTurn;
  }

  add(task: () => void): void {
    if (this.#tasks.length === 0) this.#plan();
    this.#tasks.push(task);
  }

  #plan(): void {
    whenAllIsRead(() => this.#doSome());
  }

  #doSome(): void {
    const some = this.#tasks.splice(0, this.#perTurn);
    if (this.#tasks.length > 0) this.#plan();
    for (const task of some) task();
  }
}
