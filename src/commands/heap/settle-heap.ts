import { flushCompileCache } from 'node:module';
import { setFlagsFromString } from 'node:v8';
import { unlessChosen } from './chosen-flags.ts';
import { collectWhenQuiet, findCollector, type Traffic } from './collect-when-quiet.ts';
import { growInACrowd } from './young-generation.ts';

/**
 * How the heap fills and grows, how much V8 compiles into one function, and when it begins to learn about one. Unlike sizes, these are
 * not set on the command line: started with any but the last, Node cannot use the compiled code of its own modules that it ships, which
 * costs 55 ms of CPU at every start; and with the last V8 would learn about all that is called only once, to load.
 */
const choices = [
  /**
   * When the young generation is four fifths full V8 would collect it on the next turn, in the middle of a burst of requests, which
   * are all alive then and get moved. Without that the room is used up first: 6 % less CPU with 64 connections.
   */
  { known: /minor-gc-task/, flags: ['--no-minor-gc-task'] },
  /**
   * Where objects survive while V8 watches, as requests do with 512 connections, it makes all that follow them in the old
   * generation, for the life of the process, although each is gone in a moment. Without that 81 collections of the whole heap
   * became 7, for a fifth less CPU and 13 MB less.
   */
  { known: /allocation-site-pretenuring/, flags: ['--no-allocation-site-pretenuring'] },
  /**
   * How far the old generation may grow beyond what is alive before it is collected. With 50,000 keys kept V8 lets it grow by half,
   * though nothing that lasts grows as much: 20 MB less with a million keys in use, for the same CPU.
   */
  { known: /heap-growing/, flags: ['--heap-growing-percent=25'] },
  /**
   * A request passes through hundreds of small functions, none of them much hotter than the rest. V8 stops putting functions into
   * their callers long before all are in, leaves out those that are reached in fewer than 15 of 100 calls, and gives up where it has
   * seen five kinds of objects: that suits programs with a few hot loops. 3 to 5 % less CPU with 64 connections, for 1 MB.
   */
  {
    known: /inlin|polymorphic/,
    flags: [
      '--max-inlined-bytecode-size=1000',
      '--max-inlined-bytecode-size-cumulative=2500',
      '--max-inlined-bytecode-size-small=60',
      '--min-inlining-frequency=0.05',
      '--max-valid-polymorphic-map-count=8',
    ],
  },
  /**
   * V8 learns nothing about a function until it has returned some times, and one that refuses all that it is asked never returns: at
   * each call it looked each name up anew. 13 % less CPU in a load whose bodies or quotas are all refused, and 15 % in the first second
   * of any load.
   */
  { known: /lazy-feedback/, flags: ['--no-lazy-feedback-allocation'] },
];

/**
 * Called when all is loaded, and before the first request is read. Keeps what was compiled for the next start, bounds the heap, and
 * gives back the memory that loading left behind, which V8 would keep for the life of a process that is mostly idle, as a sidecar
 * is. Measured: 141 MB resident became 115 MB, for one pause of 65 ms. Whoever comes meanwhile waits that long; later it would hold up
 * all that is in flight, and what loading left would come on top of the first load.
 */
export function settleHeap(traffic: Traffic): void {
  // First, because V8 takes what was compiled with the flags that it starts with.
  flushCompileCache();
  for (const flag of unlessChosen(choices)) setFlagsFromString(flag);
  growInACrowd(traffic);
  const collect = findCollector();
  collectWhenQuiet(traffic, collect);
  // The collector forgets the shapes of objects with no live instance, and `process.nextTick`, which makes one with computed names
  // each time, takes a slow path for ever once its shape is forgotten: 4 % of the time under load. So one waits meanwhile.
  process.nextTick(() => undefined);
  collect({ type: 'major', flavor: 'last-resort' });
}
