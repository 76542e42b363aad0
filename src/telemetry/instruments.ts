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
