import type { Config } from '../config/config.ts';
import type { HandedConfig } from '../config/hand-over.ts';
import { readConfig } from '../config/load-config.ts';
import { resolveConfig } from '../config/resolve-config.ts';

/** A configuration, and what the workers are given of it; undefined where there are none. */
export interface Loaded {
  readonly config: Config;
  readonly handed: HandedConfig | undefined;
}

/** Reads, for `serve`, a file that other processes may have to serve by. Throws what `readConfig` throws. */
export function load(file: string): Loaded {
  const read = readConfig(file, process.env);
  const config = resolveConfig(read);
  return { config, handed: config.workers === 1 ? undefined : { file, raw: read.raw } };
}
