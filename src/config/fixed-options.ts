import { isDeepStrictEqual } from 'node:util';
import type { Config } from './config.ts';

/** What a running process cannot change, by its name in the file. */
const fixedOptions: Readonly<Record<string, keyof Config>> = {
  listen: 'listen',
  admin: 'admin',
  workers: 'workers',
  store: 'store',
  storeDeadline: 'storeDeadlineMs',
  limits: 'limits',
  spool: 'spool',
  drain: 'drain',
  log: 'log',
};

/** The options that differ and cannot be changed by a reload. */
export function fixedChanges(before: Config, after: Config): readonly string[] {
  return Object.entries(fixedOptions)
    .filter(([, part]) => !isDeepStrictEqual(before[part], after[part]))
    .map(([option]) => option);
}
