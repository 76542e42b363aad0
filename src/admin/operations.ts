import type { Operation } from './operation.ts';
import { importOperations } from './operations/import.ts';
import { keyOperations } from './operations/keys.ts';
import { readOperations } from './operations/read.ts';
import { usageOperations } from './operations/usage.ts';

/** All that the admin API can do. */
export const operations: readonly Operation[] = [
  ...keyOperations,
  ...usageOperations,
  ...importOperations,
  ...readOperations,
];
