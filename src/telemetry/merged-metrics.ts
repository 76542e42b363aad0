import { AggregatorRegistry, Counter, Histogram, type Registry } from 'prom-client';
import type { MetricsSource } from './metrics.ts';

/** All numbers of one process at one moment. */
export type Snapshot = Awaited<ReturnType<MetricsSource['getMetricsAsJSON']>>;

/**
 * What a process has counted. It can be read at any time, unlike some of what a process measures of itself: the longest pause of its
 * event loop, for one, is the longest since it was last read.
 */
export async function readCounts(source: Pick<Registry, 'getMetricsAsArray'>): Promise<Snapshot> {
  const counted = source
    .getMetricsAsArray()
    .filter((metric) => metric instanceof Counter || metric instanceof Histogram);
  return await Promise.all(counted.map((metric) => metric.get()));
}

/** The numbers of several processes as if they were one. */
export interface MergedMetrics {
  /** Takes the newest numbers of a process, or some of them. */
  note(pid: number, snapshot: Snapshot): void;
  /** The process has ended: what it counted stays counted, or a counter that falls would look like a jump. */
  retire(pid: number): void;
  /** The page, with the numbers of the leading process in it. */
  print(): Promise<string>;
  readonly contentType: MetricsSource['contentType'];
}

export function createMergedMetrics(own: MetricsSource): MergedMetrics {
  const latest = new Map<number, Map<string, Snapshot[number]>>();
  const latestOf = (pid: number): Snapshot => [...(latest.get(pid)?.values() ?? [])];
  let retired: Promise<Snapshot> = Promise.resolve([]);
  return {
    contentType: own.contentType,
    note(pid, snapshot) {
      const known = latest.getOrInsert(pid, new Map());
      for (const metric of snapshot) known.set(metric.name, metric);
    },
    retire(pid) {
      const counted = latestOf(pid).filter(({ type }) => lasting.has(String(type)));
      latest.delete(pid);
      retired = addTo(retired, counted);
    },
    async print() {
      const living = [...latest.keys()].map(latestOf);
      return await AggregatorRegistry.aggregate([
        await retired,
        (await own.getMetricsAsJSON()).map(speakForAll),
        ...living,
      ]).metrics();
    },
  };
}

/** What cannot be added up, such as the time of the start, is left out of sums: there the leading process tells its own. */
function speakForAll(metric: Snapshot[number]): Snapshot[number] {
  return metric.aggregator === 'omit' ? { ...metric, aggregator: 'first' } : metric;
}

/** What a process counted outlives it; what it measured of itself does not. */
const lasting: ReadonlySet<string> = new Set(['counter', 'histogram']);

async function addTo(sum: Promise<Snapshot>, counted: Snapshot): Promise<Snapshot> {
  return await AggregatorRegistry.aggregate([await sum, counted]).getMetricsAsJSON();
}
