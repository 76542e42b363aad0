import { PassingMap } from '../../collections/passing-map.ts';
import type { StepOrder } from '../../stores/ledger.ts';
import { FreshIds } from '../fresh-ids.ts';

/**
 * The ids of steps that were sent and of which it is not known yet what became of them. The store has to remember those, and may forget
 * all before them: each step tells it from where on.
 */
export class OpenSteps {
  readonly #ids = new FreshIds();
  /** By key, as they were given out. */
  readonly #open = new PassingMap<string[]>();

  /** What a step that is sent now says of itself, and says again when it is repeated. */
  begin(keyId: string): Pick<StepOrder, 'id' | 'openFrom'> {
    const id = this.#ids.next();
    const open = this.#open.get(keyId);
    if (open === undefined) this.#open.add(keyId, [id]);
    else open.push(id);
    const lowest = open?.[0] ?? id;
    return { id, openFrom: Number(lowest.slice(lowest.lastIndexOf('.') + 1)) };
  }

  /** What became of it is known, or it is given up. */
  end(keyId: string, id: string): void {
    const open = this.#open.get(keyId);
    const at = open?.indexOf(id) ?? -1;
    if (open === undefined || at < 0) return;
    if (open.length === 1) this.#open.delete(keyId);
    else open.splice(at, 1);
  }
}
