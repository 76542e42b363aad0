import { readdirSync, readlinkSync } from 'node:fs';

/** What the files are called that a process holds open, by their descriptors. */
export function openFiles(pid = process.pid): ReadonlyMap<number, string> {
  const folder = `/proc/${pid}/fd`;
  const files = new Map<number, string>();
  for (const fd of readdirSync(folder)) {
    try {
      files.set(Number(fd), readlinkSync(`${folder}/${fd}`));
    } catch {
      // it has been closed meanwhile
    }
  }
  return files;
}

/** How many of them have no name any more, as spooled uploads have none. */
export function unnamedFiles(pid: number): number {
  return [...openFiles(pid).values()].filter((name) => name.endsWith('(deleted)')).length;
}

/** How many of them are sockets, those that listen included. */
export function openSockets(pid: number): number {
  return [...openFiles(pid).values()].filter((name) => name.startsWith('socket:')).length;
}
