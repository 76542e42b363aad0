import type { Operation } from './operation.ts';
import { importOperations } from './operations/import.ts';
import { keyOperations } from './operations/keys.ts';
import { lookOperations } from './operations/look.ts';
import { usageOperations } from './operations/usage.ts';

/** All that the admin API can do. */
export const operations: readonly Operation[] = [
  ...keyOperations,
  ...usageOperations,
  ...importOperations,
  ...lookOperations,
];
