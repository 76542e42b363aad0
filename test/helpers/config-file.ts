import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import { tempFolder } from './temp-folder.ts';

/** A file with this content that is gone after the test. */
export function writeTemporary(t: TestContext, content: string | Uint8Array, name = 'gateway.yaml'): string {
  const file = join(tempFolder(t), name);
  writeFileSync(file, content);
  return file;
}
