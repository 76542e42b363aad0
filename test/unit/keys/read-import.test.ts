import assert from 'node:assert/strict';
import { test } from 'node:test';
import { readImport } from '../../../src/keys/read-import.ts';
import type { ImportLine } from '../../../src/keys/import-keys.ts';
import { KeyProblem } from '../../../src/keys/key-problem.ts';

async function read(text: string, chunkBytes = 7): Promise<ImportLine[]> {
  const bytes = Buffer.from(text);
  async function* chunks(): AsyncGenerator<Uint8Array> {
    for (let at = 0; at < bytes.length; at += chunkBytes) yield bytes.subarray(at, at + chunkBytes);
  }
  const lines: ImportLine[] = [];
  for await (const line of readImport(chunks())) lines.push(line);
  return lines;
}

test('CSV is read by its heading, with quotes, empty cells, lists and ends of either kind', async () => {
  const text =
    '\uFEFFsecret,name,scopes,labels,enabled,quotas\r\n' +
    'abc,"Smith, ""J."" Ä",names;/v1/*,team=x;b=y,false,daily=5/day\r\n' +
    '\r\n' +
    'def,,,,,';
  assert.deepEqual(await read(text), [
    {
      number: 2,
      fields: {
        secret: 'abc',
        name: 'Smith, "J." Ä',
        scopes: ['names', '/v1/*'],
        labels: { team: 'x', b: 'y' },
        enabled: false,
        quotas: [{ name: 'daily', limit: 5, per: 'day', timezone: undefined }],
      },
    },
    { number: 4, fields: { secret: 'def' } },
  ]);
});

test('JSON lines are read one by one', async () => {
  assert.deepEqual(await read('{"secret":"a"}\n[1]\n{"secret":\n{"hash":"b"}\n'), [
    { number: 1, fields: { secret: 'a' } },
    { number: 2, fault: 'is no JSON object, or holds a field twice' },
    { number: 3, fault: 'is no JSON object, or holds a field twice' },
    { number: 4, fields: { hash: 'b' } },
  ]);
});

test('lines that are malformed or endless are told by number, and the rest is read', async () => {
  const long = 'x'.repeat(200_000);
  const lines = await read(`secret,plan\na,b,c\n"a,b\n${long}\n${long},free\nlabel,free\n`, 4096);
  assert.deepEqual(
    lines.map((line) => ('fault' in line ? [line.number, line.fault] : line.number)),
    [
      [2, 'has 3 cells and not 2'],
      [3, 'has a quote that is not closed'],
      [4, 'is longer than 65536 characters'],
      [5, 'is longer than 65536 characters'],
      6,
    ],
  );
});

test('a file without a heading is refused, and the key in its place is not shown', async () => {
  await assert.rejects(
    read('sk-my-secret-key,free\n'),
    (error) =>
      error instanceof KeyProblem &&
      /must name the columns/.test(error.message) &&
      !/sk-my/.test(error.message),
  );
  await assert.rejects(read('secret,ownr\n'), /did you mean "owner"\?/);
  await assert.rejects(read('secret,secret\n'), /twice/);
});
