import { getHeapSpaceStatistics, setFlagsFromString, type HeapSpaceInfo } from 'node:v8';
import { runInNewContext } from 'node:vm';
import type { Connections } from '../../door/connections.ts';

/** Collects what is no longer used: of the young generation only, or all that can be spared. */
type Collect = (how: { readonly type: 'minor' | 'major'; readonly flavor?: 'last-resort' }) => void;

/** What is being worked on, as far as the heap is concerned. */
export type Traffic = Pick<Connections, 'inFlight' | 'whenDone'>;

/** Looking takes a microsecond. Filling half of the young generation takes some 250 requests. */
const looksEvery = 8;
const lowestOfMs = 1000;

/**
 * Collects a young generation that is half full in a moment when no more is in flight than the least in the second before: nothing,
 * or some streams that stay. Left alone V8 does so in the midst of a burst, which is all alive then and has to be moved, while
 * whoever comes waits. At half of the peak load 40 KB outlive a collection instead of 450 to 1100, a pause is 0.4 ms instead of
 * 1.3, and p99 half of what it was, for the same CPU.
 */
export function collectWhenQuiet(traffic: Traffic, collect: Collect): void {
  let lowest = 0;
  let lowestOfNow = 0;
  let moments = 0;
  let isPlanned = false;

  function notice(): void {
    const { inFlight } = traffic;
    if (inFlight < lowestOfNow) lowestOfNow = inFlight;
    if (inFlight > lowest || isPlanned) return;
    moments += 1;
    if (moments < looksEvery) return;
    isPlanned = true;
    // By then the answers of this turn are out, and what came together with them has been read.
    setImmediate(look);
  }

  function look(): void {
    isPlanned = false;
    if (traffic.inFlight > lowest) return;
    moments = 0;
    const { space_used_size: used, space_available_size: free } = youngGeneration();
    if (used >= free) collect({ type: 'minor' });
  }

  traffic.whenDone(notice);
  setInterval(() => {
    lowest = lowestOfNow;
    lowestOfNow = traffic.inFlight;
  }, lowestOfMs).unref();
}

const place = getHeapSpaceStatistics().findIndex((space) => space.space_name === 'new_space');

function youngGeneration(): HeapSpaceInfo {
  return getHeapSpaceStatistics()[place] as HeapSpaceInfo;
}

/** V8's own collector, which Node shows only to who starts it with a flag. Where it cannot be had, nothing is collected. */
export function findCollector(): Collect {
  setFlagsFromString('--expose-gc');
  const found: unknown = runInNewContext('gc');
  setFlagsFromString('--no-expose-gc');
  return typeof found === 'function' ? (how) => void found(how) : () => undefined;
}
