import { getHeapStatistics } from 'node:v8';

/**
 * Half of the young generation, in MB. While it is smaller than what is in flight, requests are taken for lasting and moved to
 * the old generation, whose collections are felt. With 4 the load of half the peak cost 30 % more CPU, with a p99 six
 * times as long and no less memory; with 8 p99 was twice as long. Left alone it starts small and ends large.
 */
const youngGeneration = ['--max-semi-space-size=16', '--min-semi-space-size=16'];

/**
 * In quiet times V8 would collect all there is, and forget the shape of objects of which none is alive: what had learnt it goes
 * a slower way for ever, 4 % of the time under load. It would have given back 3 MB.
 */
const noReducer = ['--no-memory-reducer'];

/**
 * While a process warms up V8 compiles on other threads, and what they take for it lies between what stays: 134 to 165 MB in
 * all. Compiled in turn with the rest it is 131 to 147 MB, for the same CPU; the p99 of the first seconds is a tenth longer.
 */
const compileInTurn = ['--no-concurrent-recompilation'];

/**
 * When four fifths of the young generation are full V8 posts a task that collects it at the next turn, in the middle of a burst of
 * requests, all of which are alive then and are moved. Without it the room is used to its end: 6 % less CPU with 64 connections.
 */
const collectWhenFull = ['--no-minor-gc-task'];

/**
 * Of what lasts when V8 looks, such as requests with 512 connections, V8 makes the next ones in the old generation, for the life of
 * the process, although each is gone in a moment. Measured with neither: 81 collections of the whole heap became 7, for a fifth less
 * CPU and 13 MB less.
 */
const bornYoung = ['--no-allocation-site-pretenuring'];

/**
 * The most of the old generation, in MB, unless Node allows less. Where it may become large V8 lets it grow to four times of what
 * was alive before it looks again; where it may not, to one and a half. What is alive here is little: 512 requests in flight
 * take 12 MB. Measured with these: 268 MB at most became 188 MB, for the same CPU.
 */
const oldGeneration = [`--max-old-space-size=${Math.min(1024, nodesOwnMax())}`];

/**
 * How much more than what is alive the old generation may hold before it is looked through. With 50,000 keys kept V8 lets it grow by
 * half, and nothing that lasts grows by as much: 20 MB less with a million keys in use, for the same CPU.
 */
const growsLittle = ['--heap-growing-percent=25'];

/**
 * Node opens its inspector, and with it all of the memory, to whoever may send SIGUSR1, from before the first line of ours is run:
 * too early for a listener.
 */
const noInspector = ['--disable-sigusr1'];

/** What can be chosen, and how a choice of somebody else is known. */
const choices = [
  { known: /semi-space-size/, flags: youngGeneration },
  { known: /max-(?:old-space|heap)-size/, flags: oldGeneration },
  { known: /heap-growing/, flags: growsLittle },
  { known: /memory-reducer/, flags: noReducer },
  { known: /concurrent-recompilation/, flags: compileInTurn },
  { known: /minor-gc-task/, flags: collectWhenFull },
  { known: /allocation-site-pretenuring/, flags: bornYoung },
  { known: /sigusr1/, flags: noInspector },
];

/**
 * The C library keeps memory apart for each thread that once asked for some, and Node has ten that hardly do. One for all costs
 * nothing that could be measured, and spares 11 MB.
 */
const sharedByThreads = { MALLOC_ARENA_MAX: '1' };

/** What `serve` starts itself anew with, unless somebody has chosen. */
export const memory = { flags: choices.flatMap(({ flags }) => flags), environment: sharedByThreads };

/**
 * Puts the same command in the place of this process, under the same process id, with what Node takes only when it starts: how it
 * keeps its memory, what it does at SIGUSR1, and the folder where also the first file is kept compiled. Whoever has
 * set one of these keeps theirs. Where a process cannot be replaced it goes on as it is.
 */
export function relaunch({ compileCache }: { readonly compileCache: string }): void {
  const given = [...process.execArgv, process.env['NODE_OPTIONS'] ?? ''].join(' ').replaceAll('_', '-');
  const flags = choices.flatMap(({ known, flags: ours }) => (known.test(given) ? [] : ours));
  if (flags.length === 0 || process.platform === 'win32' || process.execve === undefined) return;
  const words = [process.execPath, ...flags, ...process.execArgv, ...process.argv.slice(1)];
  process.execve(process.execPath, words, {
    NODE_COMPILE_CACHE: compileCache,
    ...sharedByThreads,
    ...process.env,
  });
}

/** In MB, by the memory of the machine or the container. */
function nodesOwnMax(): number {
  return Math.floor(getHeapStatistics().heap_size_limit / 1024 / 1024);
}
