import type { Gateway } from '../gateway/gateway.ts';
import type { Metrics } from '../telemetry/metrics.ts';
import type { Loaded } from './load.ts';

/** What `serve` runs: a gateway of one process or of several, each of which has its own copy of the configuration. */
export interface Served extends Pick<Gateway, 'listen' | 'admin' | 'traffic' | 'tellKeysInBoth'> {
  readonly metrics: Pick<Metrics, 'countReload' | 'showLostLines'>;
  reload(next: Loaded): void | Promise<void>;
  drain(): Promise<void>;
}
