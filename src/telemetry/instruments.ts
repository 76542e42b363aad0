import { Counter, Gauge, type Registry } from 'prom-client';
import { HistogramTally, type HistogramAbout } from './tallies.ts';

interface Shown<Read> {
  readonly name: string;
  readonly help: string;
  readonly read: () => Read;
}

/** A size that something else keeps, read when the metrics are. */
export function showGauge(registry: Registry, { name, help, read }: Shown<number | Promise<number>>): void {
  const gauge: Gauge = new Gauge({
    name,
    help,
    registers: [registry],
    collect: async () => gauge.set(await read()),
  });
}

/** A counter of what something else counts, read when the metrics are. */
export function showCounter(registry: Registry, { name, help, read }: Shown<number>): void {
  const counter: Counter = new Counter({
    name,
    help,
    registers: [registry],
    collect() {
      counter.reset();
      counter.inc(read());
    },
  });
}

/** In seconds, up to the 10 minutes that an upload may take: of what is longer than the last no quantile is known. */
const latencyBuckets = [
  0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300, 600,
];

/** The seconds that something takes that happens in every request, by one label. */
export function latencyHistogram(registry: Registry, about: Omit<HistogramAbout, 'buckets'>): HistogramTally {
  return new HistogramTally(registry, { ...about, buckets: latencyBuckets });
}
