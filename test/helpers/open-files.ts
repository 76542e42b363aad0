import { readdirSync, readlinkSync } from 'node:fs';

/** What the files are called that a process holds open. */
function openFiles(pid: number): readonly string[] {
  const folder = `/proc/${pid}/fd`;
  return readdirSync(folder).flatMap((fd) => {
    try {
      return [readlinkSync(`${folder}/${fd}`)];
    } catch {
      return []; // it has been closed meanwhile
    }
  });
}

/** How many of them have no name any more, as spooled uploads have none. */
export function unnamedFiles(pid: number): number {
  return openFiles(pid).filter((name) => name.endsWith('(deleted)')).length;
}

/** How many of them are sockets, those that listen included. */
export function openSockets(pid: number): number {
  return openFiles(pid).filter((name) => name.startsWith('socket:')).length;
}
