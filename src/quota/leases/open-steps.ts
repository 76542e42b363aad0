import { FreshIds } from '../fresh-ids.ts';

/**
 * The ids of steps that were sent and of which it is not known yet what became of them. The store has to remember those, and may forget
 * all before them: each step tells it from where on.
 */
export class OpenSteps {
  readonly #ids = new FreshIds();
  /** By key, as they were given out. */
  readonly #open = new Map<string, string[]>();

  /** Gives out an id, whose step is sent now. */
  begin(keyId: string): string {
    const id = this.#ids.next();
    const open = this.#open.get(keyId);
    if (open === undefined) this.#open.set(keyId, [id]);
    else open.push(id);
    return id;
  }

  /** What became of it is known, or it is given up. */
  end(keyId: string, id: string): void {
    const open = this.#open.get(keyId);
    const at = open?.indexOf(id) ?? -1;
    if (open === undefined || at < 0) return;
    open.splice(at, 1);
    if (open.length === 0) this.#open.delete(keyId);
  }

  /** The lowest number among those of the key, and that of this id. */
  from(keyId: string, id: string): number {
    const lowest = this.#open.get(keyId)?.[0] ?? id;
    return Number(lowest.slice(lowest.lastIndexOf('.') + 1));
  }
}
