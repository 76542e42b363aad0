import { readFileSync } from 'node:fs';
import type { Config } from '../config/config.ts';

/** What is no connection of a caller or to an upstream: sockets that listen, the store, the log, uploads on disk. */
const othersMax = 200;

/** How many files the system lets a process have open, and how many it may come to need. */
export interface FileShortage {
  readonly filesMax: number;
  readonly needed: number;
}

/**
 * Set when a process may have fewer files open than its connections may need: under load it would turn callers away. Node has raised
 * what it may by itself. Where the limit is not told, as outside Linux, none is found.
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
