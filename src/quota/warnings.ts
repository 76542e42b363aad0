import { BoundedMap } from '../collections/bounded-map.ts';
import { none } from '../collections/filled.ts';
import type { PeriodRule } from '../config/plan-rule.ts';
import type { Lease } from './leases/lease.ts';
import type { QuotaReading } from './quota-reading.ts';

/** 12 MB of memory. When that is full the oldest warning is forgotten, and may be given again. */
const keptMax = 100_000;

/** Which warnings have been given: one for each key, quota and period in this process. */
export class Warnings {
  /** When the latest period began for which a warning was given. */
  readonly #given = new BoundedMap<string, number>(keptMax);

  /** The quotas among the readings that cross their warning line for the first time in their period. */
  findNew(lease: Lease, readings: readonly QuotaReading[]): readonly QuotaReading[] {
    let found: QuotaReading[] | undefined;
    for (const [index, reading] of readings.entries()) {
      const periodStart = lease.lastCounters[index]?.periodStart;
      const period = lease.plan.quotas[index]?.period;
      if (!reading.isNearLimit || periodStart === undefined || period === undefined) continue;
      // Only periods of one rule follow one another: after a change of plan the month begins before the day that has been told of.
      const id = `${reading.name}:${wordsOf(period)}:${lease.keyId}`;
      // A request that ran past the end of its period tells of that period, perhaps after others have told of the next.
      const last = this.#given.get(id);
      if (last !== undefined && last >= periodStart) continue;
      this.#given.set(id, periodStart);
      found = [...(found ?? []), reading];
    }
    return found ?? none;
  }
}

/** The same for rules that say the same: a reload makes each of them anew. */
function wordsOf({ per, timezone, anchorMonth, anchorDay, anchorMinute }: PeriodRule): string {
  return `${per}:${timezone}:${anchorMonth}:${anchorDay}:${anchorMinute}`;
}
