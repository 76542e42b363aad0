import { compileCheckedBodies } from './body-schema/compile-bodies.ts';
import type { Config } from './config.ts';
import { resolveConfig, type CheckedConfig } from './resolve-config.ts';

/** What another process needs of a checked configuration, in plain values. It need not read the file, which may have changed. */
export type HandedConfig = Pick<CheckedConfig, 'file' | 'raw'>;

/** What was handed over is complete and has been checked. The process that checked it has told its warnings. */
export function takeOver({ file, raw }: HandedConfig): Config {
  return resolveConfig({ file, raw, checks: compileCheckedBodies(raw.routes), warnings: [] });
}
