import type { Counter } from '../../stores/ledger.ts';

/** Units of one counter that were spent while the store was away. */
interface Debt {
  readonly keyId: string;
  readonly counter: Counter;
  readonly units: number;
}

interface Account {
  /** Requests that were let through and have not been settled yet. */
  open: number;
  readonly sums: Map<string, { readonly counter: Counter; units: number }>;
}

/**
 * What keys owe: units they spent without the store's word, added up per key, quota and period until the store answers. The number
 * of keys is bounded, and so are the periods: besides the newest the one just before is kept, whose usage may still be billed.
 */
export class Owed {
  readonly #keysMax: number;
  readonly #accounts = new Map<string, Account>();

  constructor(keysMax: number) {
    this.#keysMax = keysMax;
  }

  get size(): number {
    return this.#accounts.size;
  }

  /** Lets a request of the key through unasked; false when too many keys owe already. */
  open(keyId: string): boolean {
    let account = this.#accounts.get(keyId);
    if (account === undefined) {
      if (this.#accounts.size >= this.#keysMax) return false;
      account = { open: 0, sums: new Map() };
      this.#accounts.set(keyId, account);
    }
    account.open += 1;
    return true;
  }

  /** Ends what `open` began; no units when the request turned out free. */
  close(keyId: string, counters: readonly Counter[], units: number): void {
    const account = this.#accounts.get(keyId);
    if (account === undefined) return;
    account.open -= 1;
    if (units > 0) {
      for (const counter of counters) addTo(account, counter, units);
    }
    if (account.open <= 0 && account.sums.size === 0) this.#accounts.delete(keyId);
  }

  /** Takes the debts out, one key after another, for as long as the taker has room. */
  *collect(): Generator<Debt, void> {
    for (const [keyId, account] of this.#accounts) {
      for (const [id, { counter, units }] of account.sums) {
        account.sums.delete(id);
        yield { keyId, counter, units };
      }
      if (account.open <= 0) this.#accounts.delete(keyId);
    }
  }
}

/**
 * Two plans of a key may count different periods under one name, a day and the month around it: both are kept. What ended before
 * the period just before another makes room for it, so there are two sums for each kind of period.
 */
function addTo({ sums }: Account, counter: Counter, units: number): void {
  const id = `${counter.name}:${counter.periodStart}:${counter.periodEnd}`;
  const sum = sums.get(id);
  if (sum !== undefined) {
    sum.units += units;
    return;
  }
  for (const [otherId, { counter: other }] of sums) {
    if (other.name !== counter.name) continue;
    if (counter.periodEnd < other.periodStart) return;
    if (other.periodEnd < counter.periodStart) sums.delete(otherId);
  }
  sums.set(id, { counter, units });
}
