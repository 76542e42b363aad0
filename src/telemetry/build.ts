import { readFileSync } from 'node:fs';
import { isObject } from '../content/is-object.ts';

/** Which gateway this is. */
export const version = readVersion();

/** What it runs on. */
export const node = process.versions.node;

function readVersion(): string {
  const text = readFileSync(new URL('../../package.json', import.meta.url), 'utf8');
  const parsed: unknown = JSON.parse(text);
  return isObject(parsed) && 'version' in parsed ? String(parsed['version']) : 'unknown';
}
