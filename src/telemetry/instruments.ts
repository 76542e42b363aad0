import { Counter, Gauge, type Registry } from 'prom-client';

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

interface Bounded extends Shown<number> {
  /** What bounds it in the configuration. */
  readonly option: string;
  readonly max: () => number;
}

/** A size and, beside it, the most that it may be: an alert asks for a share, whatever the limits and however many the workers. */
export function showBounded(registry: Registry, { name, help, read, option, max }: Bounded): void {
  showGauge(registry, { name, help, read });
  showGauge(registry, {
    name: name.replace(/(_bytes)?$/, '_max$1'),
    help: `What ${option} of all workers allows.`,
    read: max,
  });
}

interface ShownEach {
  readonly name: string;
  readonly help: string;
  readonly labelNames: readonly string[];
  readonly read: () => Iterable<readonly [labels: readonly string[], size: number]>;
}

/** The same of several. One that is no longer read is no longer shown. */
export function showGauges(registry: Registry, { name, help, labelNames, read }: ShownEach): void {
  const gauge: Gauge = new Gauge({
    name,
    help,
    labelNames: [...labelNames],
    registers: [registry],
    collect() {
      gauge.reset();
      for (const [labels, size] of read()) gauge.labels(...labels).set(size);
    },
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
