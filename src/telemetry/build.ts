import { readFileSync } from 'node:fs';

/** Which gateway this is. */
export const { version } = JSON.parse(
  readFileSync(new URL('../../package.json', import.meta.url), 'utf8'),
) as { readonly version: string };

/** What it runs on. */
export const node = process.versions.node;
