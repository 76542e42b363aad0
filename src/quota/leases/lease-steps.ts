import type { Counter, DrawOrder, UnitsOrder } from '../../stores/ledger.ts';
import { isOutage } from '../../stores/store-unavailable.ts';
import type { LedgerAccess } from '../ledger-access.ts';
import type { Lease } from './lease.ts';
import { OpenSteps } from './open-steps.ts';
import { Outbox, repeatableForEver, type Step } from './outbox.ts';
import { Owed } from './owed.ts';

/** For less than the ten minutes for which SQLite remembers a step: units given back twice would be overspent. */
const idsLiveMs = 540_000;

/** Above this many, leases that hold nothing are dropped: all they know is a pace, and the second draw tells it again. */
export const manyLeases = 5000;

interface LeaseStepsOptions extends Omit<LedgerAccess, 'deadlineMs'> {
  /** Each key's current lease. */
  readonly book: Map<string, Lease>;
  readonly stepsMax: number;
  readonly owingKeysMax: number;
  /** Told of each step, so that those the store does not take at once are looked after. */
  readonly onStep: () => void;
}

/** Units that go to counters of a key, or come from them. */
type Move = Pick<UnitsOrder, 'keyId' | 'counters' | 'units'>;

/** What the ledger must do for leases sooner or later: take units back, undo draws, charge units that are owed. */
export class LeaseSteps {
  readonly outbox: Outbox;
  readonly owed: Owed;
  readonly open = new OpenSteps();
  /** Each key's latest draw, while it may have run without our hearing of it. No other is made before it is undone. */
  readonly #inDoubt = new Map<string, DrawOrder>();
  readonly #options: LeaseStepsOptions;

  constructor(options: LeaseStepsOptions) {
    const { clock, stepsMax, onError } = options;
    this.#options = options;
    this.outbox = new Outbox({ mono: () => clock.mono(), stepsMax, onError });
    this.owed = new Owed(options.owingKeysMax);
  }

  sendBack(lease: Lease, counters: readonly Counter[], units: number): void {
    if (counters === lease.counters) lease.noteUsed(-units);
    const expendable = units > 0 ? 'next' : 'first';
    const terms = { expendable, repeatableForMs: idsLiveMs } as const;
    this.#move('giveBack', { keyId: lease.keyId, counters, units }, terms);
  }

  /** Sends back all that is held. */
  retire(lease: Lease): void {
    if (lease.units > 0) this.sendBack(lease, lease.counters, lease.empty());
  }

  /** Takes a lease out of the book and gives back what it holds. Its waiters are still served, with no more than they asked for. */
  close(lease: Lease): void {
    lease.expectNoMore();
    this.retire(lease);
    // Nothing is held any more, and the store may still count units that were spent as held.
    if (lease.told > 0) this.sendBack(lease, lease.counters, 0);
    this.#remove(lease);
  }

  /**
   * If there are many leases, takes one that knows of only one draw out of the book: with a million keys in use nearly all are like
   * that, and are gone before they would reach the old generation (record 13).
   */
  closeIfOneOfMany(lease: Lease, mono: number): void {
    if (this.#options.book.size > manyLeases && lease.isBare(mono)) this.close(lease);
  }

  /**
   * Takes a lease out of the book when no more steps can be posted for it. What it holds is lost, and counted as a dropped step.
   */
  abandon(lease: Lease): void {
    if (lease.units > 0) this.outbox.dropped += 1;
    this.#remove(lease);
  }

  /** Undoes a draw that was sent then and may have run, sooner or later. */
  cancel(draw: DrawOrder, sentAt: number): void {
    const { keyId, id } = draw;
    this.#inDoubt.set(keyId, draw);
    const run = (): Promise<void> => this.undo(draw);
    const end = (): void => {
      this.open.end(keyId, id);
      this.#endDoubt(draw);
    };
    this.#post({ expendable: 'next', repeatableForMs: repeatableForEver, run, end }, sentAt);
  }

  drawInDoubt(keyId: string): DrawOrder | undefined {
    return this.#inDoubt.get(keyId);
  }

  /** Undoes a draw now. Rejects with `StoreUnavailable`. */
  async undo(draw: DrawOrder): Promise<void> {
    let isInDoubt = false;
    try {
      await this.#options.ledger.cancelDraw(draw);
    } catch (error) {
      // What cannot be read may stay so, and holds up no other draw.
      isInDoubt = isOutage(error);
      throw error;
    } finally {
      if (!isInDoubt) this.#endDoubt(draw);
    }
  }

  charge(keyId: string, counters: readonly Counter[], units: number): void {
    const terms = { expendable: 'never', repeatableForMs: repeatableForEver } as const;
    this.#move('charge', { keyId, counters, units }, terms);
  }

  /**
   * Charges what keys owe, as far as there is room to spare. What is owed adds up where it is; steps for it could fill the outbox
   * while only a part of the store is away.
   */
  chargeOwed(): void {
    if (!this.outbox.hasRoomToSpare) return;
    for (const { keyId, counter, units } of this.owed.collect()) {
      this.charge(keyId, [counter], units);
      if (!this.outbox.hasRoomToSpare) return;
    }
  }

  /**
   * It gets its number when it is sent, and keeps it once it may have been taken: Redis takes no step by a number that is far behind
   * those it has seen, and one may wait here for long, behind others that a part of the store does not take.
   */
  #move(how: 'giveBack' | 'charge', move: Move, terms: Pick<Step, 'expendable' | 'repeatableForMs'>): void {
    const { keyId } = move;
    let step = { id: '', openFrom: 0 };
    this.#post({
      ...terms,
      run: (again) => {
        if (!again) step = this.open.begin(keyId);
        return this.#options.ledger[how]({ ...step, ...this.#withHeld(move, again) });
      },
      end: () => this.open.end(keyId, step.id),
    });
  }

  #endDoubt(draw: DrawOrder): void {
    if (this.#inDoubt.get(draw.keyId) === draw) this.#inDoubt.delete(draw.keyId);
  }

  #post(step: Step, inDoubtSince?: number): void {
    this.#options.onStep();
    this.outbox.post(step, inDoubtSince);
  }

  #remove(lease: Lease): void {
    lease.gone = true;
    this.#options.book.delete(lease.keyId);
  }

  /** Looked up only when the store is asked: after an outage steps are taken in any order, and the last might tell something old. */
  #withHeld(move: Move, again: boolean): Omit<UnitsOrder, 'id' | 'openFrom'> {
    // The store keeps one sum per holder, so it is told of the key's current lease, whichever one the units come from.
    const lease = this.#options.book.get(move.keyId);
    lease?.noteTold(move.counters, again);
    const held = move.counters.map((counter) => lease?.heldOf(counter) ?? 0);
    return { ...move, holder: this.#options.holder, held };
  }
}
