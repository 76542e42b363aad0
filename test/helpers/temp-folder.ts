import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Scene } from './poll.ts';

/** An empty folder that is gone after the test. */
export function tempFolder(t: Scene): string {
  const path = mkdtempSync(join(tmpdir(), 'gatehouse-'));
  t.after(() => rmSync(path, { recursive: true, force: true }));
  return path;
}
