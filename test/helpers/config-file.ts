import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Scene } from './poll.ts';
import { tempFolder } from './temp-folder.ts';

/** A file with this content that is gone after the test. */
export function writeTemporary(t: Scene, content: string | Uint8Array, name = 'gateway.yaml'): string {
  const file = join(tempFolder(t), name);
  writeFileSync(file, content);
  return file;
}
