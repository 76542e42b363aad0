import type { Gateway } from '../gateway/gateway.ts';
import type { Metrics } from '../telemetry/metrics.ts';
import type { Loaded } from './load.ts';

/** A reload that is in force wherever it was taken in time. */
export interface Reloaded {
  /** Resolves when it is in force in all processes. A worker that hangs is killed, and the next begins with it. */
  readonly everywhere: Promise<unknown>;
}

/** What `serve` runs: a gateway of one process or of several, each of which has its own copy of the configuration. */
export interface Served extends Pick<Gateway, 'listen' | 'admin' | 'traffic' | 'tellKeysInBoth'> {
  readonly metrics: Pick<Metrics, 'countReload' | 'showLostLines'>;
  reload(next: Loaded): Reloaded | Promise<Reloaded>;
  drain(): Promise<void>;
}
