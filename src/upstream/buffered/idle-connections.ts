import { idleMsMax, type KeptConnections } from '../seats.ts';
import type { TargetConnection } from './target-connection.ts';

/** Connections to one target that wait for their next request. */
export class IdleConnections implements KeptConnections {
  /** The one used last is at the end, and is used first, so that those not needed grow old. */
  readonly #resting: TargetConnection[] = [];
  #sweep: NodeJS.Timeout | undefined;
  #isClosed = false;

  get count(): number {
    return this.#resting.length;
  }

  /** Keeps one, or closes it; `keptMs` is how long the upstream waits for the next request, if it said so. */
  keep(connection: TargetConnection, keptMs: number | undefined): void {
    const restMs = keptMs === undefined ? idleMsMax : Math.min(keptMs - hurryMs, saidMsMax);
    if (restMs <= 0 || this.#isClosed) return connection.close();
    connection.rest(restMs);
    this.#resting.push(connection);
    if (this.#sweep === undefined) this.#sweepLater();
  }

  /** One that can be used again; spent ones are closed on the way. */
  take(): TargetConnection | undefined {
    const resting = this.#resting;
    const now = performance.now();
    for (let place = resting.length - 1; place >= 0; place -= 1) {
      const connection = resting[place] as TargetConnection;
      if (!connection.hasRested) continue;
      resting.splice(place, 1);
      if (!connection.isSpent(now)) return connection;
      connection.close();
    }
    return undefined;
  }

  drop(connection: TargetConnection): void {
    const place = this.#resting.indexOf(connection);
    if (place !== -1) this.#resting.splice(place, 1);
  }

  closeOne(): void {
    this.#resting[0]?.close();
  }

  /** Closes them all, and from now on those that would be kept. */
  close(): void {
    this.#isClosed = true;
    clearTimeout(this.#sweep);
    for (const connection of this.#resting.splice(0)) connection.close();
  }

  #sweepLater(): void {
    this.#sweep = setTimeout(() => this.#closeOld(), sweepEveryMs).unref();
  }

  #closeOld(): void {
    this.#sweep = undefined;
    const now = performance.now();
    for (const connection of this.#resting.filter((one) => one.isSpent(now))) connection.close();
    if (this.#resting.length > 0) this.#sweepLater();
  }
}

/** If an upstream says how long it waits, we use the connection for this much less, and never longer than `saidMsMax`. */
const hurryMs = 2000;
const saidMsMax = 600_000;
const sweepEveryMs = 1000;
