/** What an import may be, and how its lines are read. */
export const importTypes: Readonly<Record<string, 'csv' | 'json'>> = {
  'text/csv': 'csv',
  'application/x-ndjson': 'json',
  'application/jsonl': 'json',
};
