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
  let rest = chunks;
  let position = start;
  while (rest.length > 0) {
    const { bytesWritten } = await file.writev(rest, position);
    position += bytesWritten;
    rest = behind(rest, bytesWritten);
  }
}

/** What is left of the chunks behind their first bytes. */
function behind(chunks: readonly Buffer[], bytes: number): Buffer[] {
  let skipped = bytes;
  return chunks.flatMap((chunk) => {
    const rest = chunk.subarray(skipped);
    skipped = Math.max(0, skipped - chunk.length);
    return rest.length > 0 ? [rest] : [];
  });
}
