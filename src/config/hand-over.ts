import { compileCheckedBodies } from './body-schema/compile-bodies.ts';
import { checked } from './checked.ts';
import type { Config } from './config.ts';
import { digestOf, tokensOf } from './digest.ts';
import { resolveConfig, type CheckedConfig } from './resolve-config.ts';
import type { RawConfig } from './schema.ts';

/** A checked configuration in a form that can be sent to another process: plain values, with hashes for the keys and tokens. */
export interface HandedConfig {
  readonly file: string;
  readonly raw: RawConfig;
}

/** The receiver need not read the file, which may have changed meanwhile. */
export function handOver({ file, raw }: CheckedConfig): HandedConfig {
  return {
    file,
    raw: {
      ...raw,
      keys: raw.keys.map((key) => {
        const { secret: _, ...rest } = key;
        return { ...rest, hash: written(digestOf(key)) };
      }),
      admin: {
        ...raw.admin,
        token: '',
        tokens: tokensOf(raw.admin).map((one) => ({
          name: one.name,
          role: one.role,
          hash: written(digestOf(one)),
        })),
      },
    },
  };
}

/** What was handed over is complete and has been checked. The process that checked it has told its warnings. */
export function takeOver({ file, raw }: HandedConfig): Config {
  return resolveConfig({ file, raw, checks: compileCheckedBodies(raw.routes), warnings: [] });
}

function written(digest: string | undefined): string {
  return `sha256:${checked(digest)}`;
}
