import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Desk } from '../../../../src/admin/desk.ts';
import type { Call } from '../../../../src/admin/operation.ts';
import { importOperations } from '../../../../src/admin/operations/import.ts';
import type { Fields } from '../../../../src/admin/read-values.ts';
import { linesListedMax } from '../../../../src/admin/schemas.ts';
import type { KeyBook } from '../../../../src/keys/key-book.ts';
import { countTurns } from '../../../helpers/count-turns.ts';

const call = {
  id: '',
  query: {},
  body: {},
  written: {},
  lines: { form: 'json', chunks: ReadableStream.from<Uint8Array>([]) },
  by: { actor: 'ada' },
  mark: undefined,
} as const;

async function handle(asked: Call<Fields, Fields>, importKeys: KeyBook['importKeys']): Promise<Report> {
  const [operation] = importOperations;
  assert.ok(operation);
  return (await operation.handle(asked, { book: { importKeys } } as unknown as Desk)).body as Report;
}

type Report = Readonly<Record<'faults' | 'warnings', readonly object[]>>;

test('in a long import there are turns for all else, though it comes at once and gives the store nothing to do', async (t) => {
  const turns = countTurns(t);
  let now = 0;
  t.mock.method(performance, 'now', () => (now += 5));
  const lines = { form: 'json', chunks: ReadableStream.from([Buffer.alloc(20_000, '\n')]) } as const;
  await handle({ ...call, lines }, async (records) => {
    await Array.fromAsync(records);
  });
  assert.ok(turns() >= 5, `${turns()} turns`);
});

test('however many lines are wrong or doubtful, so many are kept and told of', async () => {
  const { faults, warnings } = await handle(call, async (_records, { onFault, onWarning }) => {
    for (let line = 1; line <= 2 * linesListedMax; line += 1) {
      onFault(line, 'wrong');
      onWarning(line, 'doubtful');
    }
  });
  assert.deepEqual([faults.length, warnings.length], [linesListedMax, linesListedMax]);
  assert.deepEqual(warnings[0], { line: 1, problem: 'doubtful' });
});
