import { AggregatorRegistry, Counter, Histogram, type Metric, type Registry } from 'prom-client';
import type { MetricsSource } from './metrics.ts';
import { HistogramTally, Page, type HistogramCounts } from './tallies.ts';

/** One metric as prom-client writes it out. */
type Figures = Awaited<ReturnType<Registry['getMetricsAsJSON']>>[number];

/** All numbers of one process at one moment, or some of them. */
export type Snapshot = readonly (Figures | HistogramCounts)[];

type Source = Pick<MetricsSource, 'getMetricsAsArray'>;

export async function readAll(source: Source): Promise<Snapshot> {
  return await read(metricsOf(source));
}

/**
 * What a process has counted. It can be read at any time, unlike some of what a process measures of itself: the longest pause of its
 * event loop, for one, is the longest since it was last read.
 */
export async function readCounts(source: Source): Promise<Snapshot> {
  const counting = metricsOf(source).filter(
    (metric) => metric instanceof Counter || metric instanceof Histogram,
  );
  return await read(counting);
}

/** Each process does this every two seconds, and the leading one reads what comes of it in all. */
async function read(metrics: readonly Metric[]): Promise<Snapshot> {
  return await Promise.all(
    metrics.map(async (metric) => (metric instanceof HistogramTally ? metric.counts() : await metric.get())),
  );
}

/** The types of prom-client leave out that they can be read. */
function metricsOf(source: Source): readonly Metric[] {
  return source.getMetricsAsArray() as unknown as readonly Metric[];
}

function isWritten(metric: Snapshot[number]): metric is Figures {
  return !('series' in metric);
}

function talliesOf(source: Source): readonly HistogramTally[] {
  return metricsOf(source).filter((metric) => metric instanceof HistogramTally);
}

/** Adds to each histogram what others have counted of it. */
function addEach(tallies: readonly HistogramTally[], counted: Snapshot): void {
  for (const metric of counted) {
    if (!isWritten(metric)) for (const tally of tallies) tally.add(metric);
  }
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
  let retired: Promise<Figures[]> = Promise.resolve([]);
  return {
    contentType: own.contentType,
    note(pid, snapshot) {
      const known = latest.getOrInsert(pid, new Map());
      for (const metric of snapshot) known.set(metric.name, metric);
    },
    retire(pid) {
      const last = latestOf(pid);
      latest.delete(pid);
      addEach(talliesOf(own), last);
      const counted = last.filter(isWritten).filter(({ type }) => lasting.has(String(type)));
      retired = addTo(retired, counted);
    },
    async print() {
      const living = [...latest.keys()].map(latestOf);
      // Before anything is waited for: a process that ends meanwhile would be counted twice.
      const histograms = new Page();
      const sums = talliesOf(own).map((tally) => tally.copyTo(histograms));
      for (const snapshot of living) addEach(sums, snapshot);
      const others = AggregatorRegistry.aggregate([
        await retired,
        (await readAll(own)).filter(isWritten).map(speakForAll),
        ...living.map((snapshot) => snapshot.filter(isWritten)),
      ]);
      return `${await others.metrics()}\n${await histograms.metrics()}`;
    },
  };
}

/** What cannot be added up, such as the time of the start, is left out of sums: there the leading process tells its own. */
function speakForAll(metric: Figures): Figures {
  return metric.aggregator === 'omit' ? { ...metric, aggregator: 'first' } : metric;
}

/** What a process counted outlives it; what it measured of itself does not. */
const lasting: ReadonlySet<string> = new Set(['counter', 'histogram']);

async function addTo(sum: Promise<Figures[]>, counted: Figures[]): Promise<Figures[]> {
  return await AggregatorRegistry.aggregate([await sum, counted]).getMetricsAsJSON();
}
