import { getHeapStatistics } from 'node:v8';
import { unlessChosen } from './heap/chosen-flags.ts';
import { youngGeneration } from './heap/young-generation.ts';

/** In MB, from the memory of the machine or the container. */
const nodesOwnMax = Math.floor(getHeapStatistics().heap_size_limit / 1024 / 1024);

const choices = [
  { known: /semi-space/, flags: youngGeneration },
  /**
   * The largest old generation, in MB, unless Node allows less. Where it may become large V8 lets it grow to four times what was
   * alive before it looks again; otherwise to one and a half times. Little is alive here: 512 requests in flight take 12 MB. A peak
   * of 268 MB became 188 MB, for the same CPU.
   */
  {
    known: /max-(?:old-space|heap)-size/,
    flags: [`--max-old-space-size=${Math.min(1024, nodesOwnMax)}`],
  },
  /**
   * In quiet times V8 would collect everything, and forget the shapes of objects with no live instance: code that had learnt one
   * takes a slower path for ever, 4 % of the time under load. It would have given back 3 MB.
   */
  { known: /memory-reducer/, flags: ['--no-memory-reducer'] },
  /**
   * While a process warms up V8 compiles on other threads, and the memory they take for it lies between what stays: 134 to 165 MB
   * in all. Compiled in turn on the main thread it is 131 to 147 MB, for the same CPU; the p99 of the first seconds is a tenth
   * longer.
   */
  { known: /concurrent-recompilation/, flags: ['--no-concurrent-recompilation'] },
  /** Node opens its inspector, and so its memory, to anyone who may send SIGUSR1, before our first line can listen for it. */
  { known: /sigusr1/, flags: ['--disable-sigusr1'] },
];

/** The C library keeps a separate arena for each thread that ever asked for memory. One for all is as fast, and saves 11 MB. */
const sharedByThreads = { MALLOC_ARENA_MAX: '1' };

/** What `serve` restarts itself with, unless somebody has chosen otherwise. */
export const launch = { flags: choices.flatMap(({ flags }) => flags), environment: sharedByThreads };

/**
 * Replaces this process by the same command, under the same process id, with what Node takes only when it starts: how it manages
 * its memory, what it does at SIGUSR1, and the folder where even the first file is kept compiled. A setting that somebody has made
 * is kept. Where a process cannot be replaced it goes on as it is.
 */
export function relaunch({ compileCache }: { readonly compileCache: string }): void {
  const flags = unlessChosen(choices);
  if (flags.length === 0 || process.platform === 'win32' || process.execve === undefined) return;
  const words = [process.execPath, ...flags, ...process.execArgv, ...process.argv.slice(1)];
  const environment = { NODE_COMPILE_CACHE: compileCache, ...sharedByThreads, ...process.env };
  try {
    process.execve(process.execPath, words, environment);
  } catch {
    // A sandbox forbids it, or what is added makes command line and environment longer than the system takes.
  }
}
