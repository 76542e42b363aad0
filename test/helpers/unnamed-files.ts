import { readdirSync, readlinkSync } from 'node:fs';

/** How many files a process holds open that have no name any more, as spooled uploads are. */
export function unnamedFiles(pid: number): number {
  const folder = `/proc/${pid}/fd`;
  return readdirSync(folder).filter((fd) => {
    try {
      return readlinkSync(`${folder}/${fd}`).endsWith('(deleted)');
    } catch {
      return false;
    }
  }).length;
}
