import { flushCompileCache } from 'node:module';
import { boundHeap } from './bound-heap.ts';
import { collectWhenQuiet, type Traffic } from './collect-when-quiet.ts';
import { findCollector, type Collect } from './find-collector.ts';
import { growInACrowd } from './young-generation.ts';

/** Long enough for requests that waited for the start to be served first. */
const afterMs = 2000;

/**
 * Called when all is loaded. Keeps what was compiled for the next start, bounds the heap, and soon gives back the memory that
 * loading left behind: source text, syntax trees, and the young generation they inflated. Left alone, V8 keeps it for the life of a
 * process that is mostly idle, which a sidecar is. Measured: 141 MB resident became 115 MB, for one pause of 65 ms.
 */
export function settleHeap(traffic: Traffic): void {
  // First, because V8 takes what was compiled with the flags that it starts with.
  flushCompileCache();
  boundHeap();
  growInACrowd(traffic);
  const collect = findCollector();
  collectWhenQuiet(traffic, collect);
  setTimeout(() => collectAll(collect), afterMs).unref();
}

/**
 * The collector forgets the shapes of objects with no live instance, and `process.nextTick`, which makes one with computed names
 * each time, takes a slow path for ever once its shape is forgotten: 4 % of the time under load. So one waits meanwhile.
 */
function collectAll(collect: Collect): void {
  process.nextTick(() => undefined);
  collect({ type: 'major', flavor: 'last-resort' });
}
