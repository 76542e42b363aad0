import { randomUUID } from 'node:crypto';
import { open, unlink, type FileHandle } from 'node:fs/promises';
import { join } from 'node:path';

/**
 * Opens a file without a name: the system removes it when the process closes it or ends, however it ends. Only one that is killed
 * between the two calls leaves a file, which is empty.
 */
export async function openUnnamed(directory: string): Promise<FileHandle> {
  const path = join(directory, `gatehouse-${randomUUID()}`);
  const file = await open(path, 'wx+', 0o600);
  try {
    await unlink(path);
    return file;
  } catch (error) {
    await file.close();
    throw error;
  }
}

/** Writes all of the chunks, one behind another: the system may take less at a time than it is given. */
export async function writeAll(file: FileHandle, chunks: readonly Buffer[], start: number): Promise<void> {
  let { bytesWritten: done } = await file.writev(chunks, start);
  const bytes = chunks.reduce((sum, { length }) => sum + length, 0);
  while (done < bytes) {
    const rest = Buffer.concat(chunks).subarray(done);
    done += (await file.writev([rest], start + done)).bytesWritten;
  }
}
