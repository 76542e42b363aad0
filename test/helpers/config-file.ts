import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import { loadConfig } from '../../src/config/load-config.ts';
import { ConfigErrors } from '../../src/config/problems.ts';

/** A file with this content that is gone after the test. */
export function writeTemporary(t: TestContext, content: string | Uint8Array, name = 'gateway.yaml'): string {
  const folder = mkdtempSync(join(tmpdir(), 'gatehouse-config-'));
  t.after(() => rmSync(folder, { recursive: true }));
  const file = join(folder, name);
  writeFileSync(file, content);
  return file;
}

/** What `loadConfig` says about the text, one `line:column: path: sentence` each; nothing when it loads. */
export function complaints(
  t: TestContext,
  content: string | Uint8Array,
  env: NodeJS.ProcessEnv = {},
): readonly string[] {
  const file = writeTemporary(t, content);
  try {
    loadConfig(file, env);
    return [];
  } catch (error) {
    if (!(error instanceof ConfigErrors)) throw error;
    return error.message.replaceAll(`${file}:`, '').split('\n');
  }
}
