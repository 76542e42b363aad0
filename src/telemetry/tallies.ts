import { setImmediate as turnOver } from 'node:timers/promises';
import { Counter, Histogram, Registry } from 'prom-client';

interface CounterAbout {
  readonly name: string;
  readonly help: string;
  readonly labelNames?: readonly string[];
}

/**
 * A counter of what happens here, which may be in every request. prom-client finds a series by joining and hashing its labels,
 * again for each figure: with the histograms below, 5 % of the time of a request. So counts are gathered here until somebody reads.
 */
export class CounterTally extends Counter {
  readonly #root = new Branch();

  constructor(registry: Registry, about: CounterAbout) {
    super({ ...about, registers: [registry] });
  }

  /** Labels come in the order of their names, and from the configuration and the code only: they are kept for ever. */
  count(...labels: readonly string[]): void {
    let branch = this.#root;
    for (const label of labels) branch = branch.grow(label);
    branch.count += 1;
  }

  /** Shows a series before anything is counted in it. */
  expect(...labels: readonly string[]): void {
    this.labels(...labels).inc(0);
  }

  /** prom-client calls this before it reads. */
  collect(): void {
    this.#root.empty([], (labels, count) => this.labels(...labels).inc(count));
  }
}

/** What a histogram is called, and by which label its series differ. */
interface HistogramAbout {
  readonly name: string;
  readonly help: string;
  readonly label: string;
}

/** Upper bounds in seconds, up to the 10 minutes that an upload may take: of what is longer than the last no quantile is known. */
export const buckets = [
  0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300, 600,
];

/** How many figures fell into each bucket alone, the unbounded one last, and then the sum of all figures. */
type Series = readonly number[];

/** What a histogram has counted, by label: a tenth of what prom-client writes out of it. */
export interface HistogramCounts {
  readonly name: string;
  readonly series: ReadonlyMap<string, Series>;
}

/** Series that are printed in one turn of the event loop: about a millisecond. */
const seriesPerTurn = 200;

/**
 * The seconds that something takes which happens in every request: a histogram of prom-client that keeps its series itself. There
 * each figure looks for its series again and finds its bucket by a text, 2.6 % of the CPU of a name call for its two figures. It
 * prints them itself, too: there each of the 21 lines of a series is an object first, and a page of 5,000 routes took 300 ms.
 */
export class HistogramTally extends Histogram {
  readonly #about: HistogramAbout;
  readonly #series = new Map<string, Float64Array>();
  /** How the lines of a series begin, in their order, as far as its label. */
  readonly #bucketLines: readonly string[];

  constructor(page: Page, about: HistogramAbout) {
    const { name, help, label } = about;
    super({ name, help, labelNames: [label], buckets, registers: [page] });
    this.#about = about;
    this.#bucketLines = [...buckets, '+Inf'].map((le) => `${name}_bucket{le="${le}",`);
  }

  /** The label comes from the configuration and the code only: it is kept for ever. */
  measure(label: string, value: number): void {
    const series = this.#seriesOf(label);
    let bucket = 0;
    while (value > (buckets[bucket] ?? Infinity)) bucket += 1;
    series[bucket] = (series[bucket] as number) + 1;
    series[buckets.length + 1] = (series[buckets.length + 1] as number) + value;
  }

  counts(): HistogramCounts {
    const series = [...this.#series].map(([label, figures]) => [label, [...figures]] as const);
    return { name: this.#about.name, series: new Map(series) };
  }

  /** Counts what another process has counted, if it is of this histogram. */
  add({ name, series }: HistogramCounts): void {
    if (name !== this.#about.name) return;
    for (const [label, figures] of series) {
      const own = this.#seriesOf(label);
      for (const [at, figure] of figures.entries()) own[at] = (own[at] as number) + figure;
    }
  }

  /** The same histogram, with what it has counted, on another page. */
  copyTo(page: Page): HistogramTally {
    const copy = new HistogramTally(page, this.#about);
    copy.add(this.counts());
    return copy;
  }

  /** Its part of the page, as prom-client (15.1.3) would write it. What comes in meanwhile is in no series by half. */
  async print(): Promise<string> {
    const { name, help } = this.#about;
    const parts = [`# HELP ${name} ${escape(help)}\n# TYPE ${name} histogram`];
    for (const [label, series] of this.#series) {
      parts.push(this.#printSeries(label, series));
      if (parts.length % seriesPerTurn === 0) await turnOver();
    }
    return parts.join('\n');
  }

  #seriesOf(label: string): Float64Array {
    let series = this.#series.get(label);
    if (series === undefined) this.#series.set(label, (series = new Float64Array(buckets.length + 2)));
    return series;
  }

  #printSeries(text: string, series: Float64Array): string {
    const { name, label } = this.#about;
    const own = `${label}="${escape(text).replaceAll('"', '\\"')}"}`;
    let count = 0;
    const lines = this.#bucketLines.map((beginning, bucket) => {
      count += series[bucket] as number;
      return `${beginning}${own} ${count}`;
    });
    lines.push(`${name}_sum{${own} ${series.at(-1)}`, `${name}_count{${own} ${count}`);
    return lines.join('\n');
  }
}

function escape(text: string): string {
  return text.replaceAll('\\', '\\\\').replaceAll('\n', '\\n');
}

/** A registry that lets traffic through while very many series of its histograms are printed. */
export class Page extends Registry {
  override async metrics(): Promise<string> {
    const parts: string[] = [];
    for (const metric of this.getMetricsAsArray()) {
      const isOurs = metric instanceof HistogramTally;
      parts.push(await (isOurs ? metric.print() : this.getSingleMetricAsString(metric.name)));
    }
    return `${parts.join('\n\n')}\n`;
  }
}

/** The series that begin with the same labels. */
class Branch {
  count = 0;
  readonly #twigs = new Map<string, Branch>();

  grow(label: string): Branch {
    let twig = this.#twigs.get(label);
    if (twig === undefined) this.#twigs.set(label, (twig = new Branch()));
    return twig;
  }

  empty(labels: readonly string[], take: (labels: readonly string[], count: number) => void): void {
    if (this.count > 0) take(labels, this.count);
    this.count = 0;
    for (const [label, twig] of this.#twigs) twig.empty([...labels, label], take);
  }
}
