import type { ImportForm } from '../keys/imports/split-records.ts';

/** What an import may be, and how its lines are read. */
export const importTypes = {
  'text/csv': 'csv',
  'application/x-ndjson': 'json',
  'application/jsonl': 'json',
} as const satisfies Readonly<Record<string, ImportForm>>;

/** The lines of an import, as they come. */
export interface SentLines {
  readonly chunks: AsyncIterable<Uint8Array>;
  readonly form: ImportForm;
}
