import type { TestContext } from 'node:test';
import { loadConfig } from '../../src/config/load-config.ts';
import { ConfigErrors } from '../../src/config/problems.ts';
import { writeTemporary } from './config-file.ts';

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
