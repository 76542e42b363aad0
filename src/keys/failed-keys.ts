import { isIPv6 } from 'node:net';
import { BoundedMap } from '../collections/bounded-map.ts';

/** Counts the keys that were not valid, for each network of clients, in bounded memory. */
export interface FailedKeys {
  /** Counts one. Once there are too many in the interval, says when it ends. */
  count(client: string): { readonly retryInSeconds: number } | undefined;
}

export interface FailedKeysOptions {
  /** How many a network may have in an interval before it is told to slow down. */
  readonly failuresMax: number;
  readonly perMs: number;
  /** Monotonic milliseconds: nobody has to wait longer because the wall clock was set back. */
  readonly mono: () => number;
  /** Told when networks went over the limit, at most once in an interval. */
  readonly report: (report: GuessingReport) => void;
}

export interface GuessingReport {
  /** The network that was over the limit just now. */
  readonly network: string;
  /** How many other networks have gone over it since the last report. */
  readonly otherNetworks: number;
}

/** When more networks than this fail, the ones that failed first are forgotten first. */
const networksMax = 10_000;

interface Interval {
  readonly endsAt: number;
  failures: number;
}

/** Creates a counter without failures. */
export function createFailedKeys({ failuresMax, perMs, mono, report }: FailedKeysOptions): FailedKeys {
  const intervals = new BoundedMap<string, Interval>(networksMax);
  let reportAt = 0;
  let unreported = 0;

  function tell(network: string, at: number): void {
    if (at < reportAt) {
      unreported += 1;
      return;
    }
    report({ network, otherNetworks: unreported });
    reportAt = at + perMs;
    unreported = 0;
  }

  return {
    count(client) {
      const at = mono();
      const network = networkOf(client);
      let interval = intervals.get(network);
      if (interval === undefined || at >= interval.endsAt) {
        interval = { endsAt: at + perMs, failures: 0 };
        intervals.set(network, interval);
      }
      interval.failures += 1;
      if (interval.failures <= failuresMax) return undefined;
      if (interval.failures === failuresMax + 1) tell(network, at);
      return { retryInSeconds: Math.max(1, Math.ceil((interval.endsAt - at) / 1000)) };
    },
  };
}

/** One IPv4 address, or the /64 that an IPv6 client can choose its addresses from. */
export function networkOf(client: string): string {
  if (!isIPv6(client)) return client;
  const [head = '', tail] = (client.split('%')[0] ?? '').split('::');
  const before = head === '' ? [] : head.split(':');
  const after = tail === undefined || tail === '' ? [] : tail.split(':');
  const missing = tail === undefined ? 0 : Math.max(0, 8 - before.length - groups(after));
  const all = [...before, ...Array.from({ length: missing }, () => '0'), ...after];
  return `${all
    .slice(0, 4)
    .map((group) => Number.parseInt(group, 16).toString(16))
    .join(':')}::/64`;
}

/** A last group in dotted form stands for two. */
function groups(parts: readonly string[]): number {
  return parts.length + (parts.at(-1)?.includes('.') === true ? 1 : 0);
}
