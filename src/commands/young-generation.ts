import { PerformanceObserver } from 'node:perf_hooks';
import { getHeapSpaceStatistics, setFlagsFromString } from 'node:v8';

/** What half of the young generation holds at first, and in a crowd. */
const firstMb = 7;
const crowdedMb = 2 * firstMb;
/** More requests at once than these are a crowd. */
const crowd = 128;
const lookEveryMs = 1000;

/**
 * What is in flight has to fit into half of the young generation. Requests that do not are taken for lasting, and moved to the old
 * generation, whose collections are felt. V8 rounds the most it is told up to a power of two, and doubles from the first size.
 */
export const youngGeneration = ['--max-semi-space-size=16', `--min-semi-space-size=${firstMb}`];

/**
 * Keeps the young generation at its first size until there is a crowd. Left alone V8 doubles it once as much has survived in it as
 * it holds, which is soon, and for good. Kept small a gateway with 64 connections has 122 MB resident instead of 141, with a p99 at
 * full load of 4 ms instead of 8, and one with a million keys 141 MB instead of 155. With 512 connections it would cost half of the
 * throughput. Where somebody has chosen the size nothing is done.
 */
export function growInACrowd(inFlight: () => number): void {
  if (!youngGeneration.every((flag) => process.execArgv.includes(flag))) return;
  growBy(1);
  let isGrowing = false;
  const collections = new PerformanceObserver(() => {
    if (halfMb() < crowdedMb) return;
    collections.disconnect();
    growBy(1);
    isGrowing = false;
  });
  setInterval(() => {
    if (isGrowing || inFlight() <= crowd || halfMb() >= crowdedMb) return;
    isGrowing = true;
    growBy(2);
    collections.observe({ type: 'gc' });
  }, lookEveryMs).unref();
}

/** V8 reads it at each collection. On its command line 1 would be taken for 2. */
function growBy(factor: number): void {
  setFlagsFromString(`--semi-space-growth-factor=${factor}`);
}

function halfMb(): number {
  const young = getHeapSpaceStatistics().find((space) => space.space_name === 'new_space');
  return (young?.space_size ?? 0) / 2 / 1024 / 1024;
}
