import assert from 'node:assert/strict';
import { test } from 'node:test';
import { readImport, type ImportForm } from '../../../src/keys/read-import.ts';
import type { ImportLine } from '../../../src/keys/import-keys.ts';
import { KeyProblem } from '../../../src/keys/key-problem.ts';

async function read(text: string | Buffer, chunkBytes = 7, form?: ImportForm): Promise<ImportLine[]> {
  const bytes = Buffer.from(text);
  async function* chunks(): AsyncGenerator<Uint8Array> {
    for (let at = 0; at < bytes.length; at += chunkBytes) yield bytes.subarray(at, at + chunkBytes);
  }
  const lines: ImportLine[] = [];
  for await (const line of readImport(chunks(), form)) lines.push(line);
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

test('a blank in front of the first line does not make it CSV', async () => {
  for (const blank of [' ', '\t', '\uFEFF \t']) {
    assert.deepEqual(await read(`${blank}{"secret":"a"}\n`), [{ number: 1, fields: { secret: 'a' } }]);
  }
});

test('lines that are malformed or endless are told by number, and the rest is read', async () => {
  const long = 'x'.repeat(200_000);
  const lines = await read(`secret,plan\na,b,c\n"a,b\n${long}\n${long},free\nlabel,free\n`, 4096);
  assert.deepEqual(
    lines.map((line) => ('fault' in line ? [line.number, line.fault] : line.number)),
    [
      [2, 'has 3 cells and not 2'],
      [3, 'has a quote that is not closed'],
      [4, 'is longer than 65536 bytes'],
      [5, 'is longer than 65536 bytes'],
      6,
    ],
  );
});

for (const [form, first, other] of [
  ['CSV', 'secret,name\n', (name: string) => `abc,${name}\n`],
  ['JSON', '{"secret":"abc","name":"a"}\n', (name: string) => `{"secret":"abc","name":"${name}"}\n`],
] as const) {
  test(`a line of ${form} that is not UTF-8 is refused, whatever it is cut into, and the others are read`, async () => {
    const text = Buffer.concat([
      Buffer.from(first + other('Müller')),
      Buffer.from(other('Müller'), 'latin1'),
      Buffer.from(other('\uFFFD😀')),
    ]);
    for (const chunkBytes of [1, 2, 3, 1000]) {
      const lines = await read(text, chunkBytes);
      assert.deepEqual(
        lines.slice(-3).map((line) => ('fault' in line ? line.fault : line.fields['name'])),
        ['Müller', 'is not UTF-8', '\uFFFD😀'],
      );
    }
  });
}

test('a label that is given twice is refused', async () => {
  assert.deepEqual(await read('secret,labels\nabc,a=1;b=1;a=2\n'), [
    { number: 2, fault: 'label has a name twice' },
  ]);
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

test('a heading with other separators is told which there are', async () => {
  for (const heading of ['secret;plan', 'secret\tplan', 'secret;plan,name']) {
    await assert.rejects(read(`${heading}\n`), /is not known, .*; columns are separated by commas$/);
  }
  await assert.rejects(read('secret,x\n'), /is not known, choose from [^;]*$/);
});

test('what is said to be of one form is not taken for the other', async () => {
  await assert.rejects(read('{"secret":"a"}\n', 7, 'csv'), /must name the columns/);
  assert.deepEqual(await read('secret\na\n', 7, 'json'), [
    { number: 1, fault: 'is no JSON object, or holds a field twice' },
    { number: 2, fault: 'is no JSON object, or holds a field twice' },
  ]);
});
