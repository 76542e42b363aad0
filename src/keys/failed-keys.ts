import { isIPv6 } from 'node:net';
import { BoundedMap } from '../collections/bounded-map.ts';
import { groupsOf } from '../config/addresses.ts';

/** Counts a key that was not valid. Once its network has had too many in the interval, says when that ends. */
export type CountFailed = (client: string) => { readonly retryInSeconds: number } | undefined;

interface FailuresOptions {
  /** How many a network may have in an interval before it is told to slow down. */
  readonly failuresMax: number;
  readonly perMs: number;
  /** Monotonic milliseconds: nobody has to wait longer because the wall clock was set back. */
  readonly mono: () => number;
  /** Told when networks went over the limit, at most once in an interval. */
  readonly report: (report: GuessingReport) => void;
}

export interface GuessingReport {
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

/** Makes a count of invalid keys by network of clients, in bounded memory. It begins at zero. */
export function countFailedKeys({ failuresMax, perMs, mono, report }: FailuresOptions): CountFailed {
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

  return function count(client) {
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
  };
}

/** One IPv4 address, or the /64 that an IPv6 client can choose its addresses from. */
export function networkOf(client: string): string {
  if (!isIPv6(client)) return client;
  const [address = ''] = client.split('%');
  return `${groupsOf(address).slice(0, 4).join(':')}::/64`;
}
