import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Desk } from '../../../../src/admin/operation.ts';
import { importOperations } from '../../../../src/admin/operations/import.ts';
import { nothingImported, type ImportLine } from '../../../../src/keys/imports/import-keys.ts';
import { countTurns } from '../../../helpers/count-turns.ts';

async function importKeys(lines: AsyncIterable<ImportLine>) {
  await Array.fromAsync(lines);
  return nothingImported;
}

test('in a long import there are turns for all else, though it comes at once and gives the store nothing to do', async (t) => {
  const turns = countTurns(t);
  let now = 0;
  t.mock.method(performance, 'now', () => (now += 5));
  const lines = { form: 'json', chunks: ReadableStream.from([Buffer.alloc(20_000, '\n')]) } as const;
  const call = { id: '', query: {}, body: {}, written: {}, lines, by: { actor: 'ada' }, mark: undefined };
  await importOperations[0]?.handle(call, { book: { importKeys } } as unknown as Desk);
  assert.ok(turns() >= 5, `${turns()} turns`);
});
