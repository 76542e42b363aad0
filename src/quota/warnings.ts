import { BoundedMap } from '../collections/bounded-map.ts';
import { none } from '../collections/filled.ts';
import type { PeriodRule } from '../config/plan-rule.ts';
import type { Lease } from './leases/lease.ts';
import type { QuotaReading } from './quota-reading.ts';

/** Which warnings have been given: one for each key, quota and period in this process. */
export interface Warnings {
  /** The quotas among the readings that cross their warning line for the first time in their period. */
  findNew(lease: Lease, readings: readonly QuotaReading[]): readonly QuotaReading[];
}

/** Creates the memory of warnings. It is bounded to 12 MB: when it is full the oldest is forgotten, and may be given again. */
export function createWarnings(keptMax = 100_000): Warnings {
  const given = new BoundedMap<string, number>(keptMax);
  return {
    findNew(lease, readings) {
      let found: QuotaReading[] | undefined;
      for (const [index, reading] of readings.entries()) {
        const periodStart = lease.lastCounters[index]?.periodStart;
        const period = lease.plan.quotas[index]?.period;
        if (!reading.isNearLimit || periodStart === undefined || period === undefined) continue;
        // Only periods of one rule follow one another: after a change of plan the month begins before the day that has been told of.
        const id = `${reading.name}:${wordsOf(period)}:${lease.keyId}`;
        // A request that ran past the end of its period tells of that one, after others have told of the next.
        const last = given.get(id);
        if (last !== undefined && last >= periodStart) continue;
        given.set(id, periodStart);
        found = [...(found ?? []), reading];
      }
      return found ?? none;
    },
  };
}

/** The same for rules that say the same: a reload makes each of them anew. */
function wordsOf({ per, timezone, anchorMonth, anchorDay, anchorMinute }: PeriodRule): string {
  return `${per}:${timezone}:${anchorMonth}:${anchorDay}:${anchorMinute}`;
}
