import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import { loadConfig } from '../../src/config/load-config.ts';
import { ConfigErrors } from '../../src/config/problems.ts';
import { tempFolder } from './temp-folder.ts';

/** A file with this content that is gone after the test. */
export function writeTemporary(t: TestContext, content: string | Uint8Array, name = 'gateway.yaml'): string {
  const file = join(tempFolder(t), name);
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
