import { readFileSync } from 'node:fs';
import type { Config } from '../config/config.ts';

/** Files other than connections of callers and to upstreams: listening sockets, the store, the log, uploads on disk. */
const othersMax = 200;

/** How many files the system lets a process have open, and how many it may come to need. */
interface FileShortage {
  readonly filesMax: number;
  readonly needed: number;
}

/**
 * Set when a process may open fewer files than its connections may need: under load it would turn callers away. Node has already
 * raised the limit as far as it may. Where it cannot be read, as outside Linux, no shortage is found.
 */
export function findFileShortage(
  { limits, upstreams }: Pick<Config, 'limits' | 'upstreams'>,
  systemLimits = readSystemLimits(),
): FileShortage | undefined {
  const filesMax = Number(/^Max open files +(\d+)/m.exec(systemLimits)?.[1] ?? Infinity);
  const towards = [...upstreams.values()].map(({ targets, connections }) => targets.length * connections);
  const needed = towards.reduce((sum, count) => sum + count, limits.connections + othersMax);
  return filesMax < needed ? { filesMax, needed } : undefined;
}

function readSystemLimits(): string {
  try {
    return readFileSync('/proc/self/limits', 'utf8');
  } catch {
    return '';
  }
}
