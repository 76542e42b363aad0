import type { Config } from '../../config/config.ts';
import { endPatienceMs } from '../../waiting/patience.ts';

/** How long a worker may take from being told to drain until it ends. */
export function drainPatienceMs({ drain }: Config): number {
  return drain.delayMs + drain.timeoutMs + endPatienceMs;
}
