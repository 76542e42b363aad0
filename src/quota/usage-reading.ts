import { endOfTime, type Counter, type Ledger, type Usage } from '../stores/ledger.ts';

/** What the store says about one quota of a key. */
export interface UsageReading {
  readonly name: string;
  readonly limit: number;
  /** Units that were spent or are held ahead. */
  readonly used: number;
  /** The part of `used` that processes have said they hold ahead. */
  readonly leased: number;
  readonly remaining: number;
  /** Milliseconds since the epoch; undefined for a lifetime. Of a period that has ended it is past. */
  readonly resetsAt: number | undefined;
}

/** Reads counters of a key as the store has them. Rejects with `StoreUnavailable` when it does not answer. */
export async function readUsage(
  ledger: Pick<Ledger, 'readUsage'>,
  keyId: string,
  counters: readonly Counter[],
): Promise<readonly UsageReading[]> {
  const usage = await ledger.readUsage(keyId, counters);
  return readingsOf(counters, usage);
}

/** What the store has told of counters, in their order. */
export function readingsOf(counters: readonly Counter[], usage: readonly Usage[]): readonly UsageReading[] {
  return counters.map((counter, index) => readingOf(counter, usage[index] ?? unused));
}

const unused = { used: 0, leased: 0 };

function readingOf({ name, limit, periodEnd }: Counter, { used, leased }: Usage): UsageReading {
  const resetsAt = periodEnd === endOfTime ? undefined : periodEnd;
  return { name, limit, used, leased, remaining: Math.max(0, limit - used), resetsAt };
}

/** The same without units that this process is known to hold, which nobody has spent. */
export function withoutHeld(reading: UsageReading, held: number): UsageReading {
  const used = Math.max(0, reading.used - held);
  return { ...reading, used, leased: 0, remaining: Math.max(0, reading.limit - used) };
}
