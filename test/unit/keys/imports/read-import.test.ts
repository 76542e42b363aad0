import assert from 'node:assert/strict';
import { constants } from 'node:buffer';
import { test } from 'node:test';
import type { ImportLine } from '../../../../src/keys/imports/import-keys.ts';
import { readImport } from '../../../../src/keys/imports/read-import.ts';
import type { ImportForm } from '../../../../src/keys/imports/split-records.ts';
import { BrokenFile, KeyProblem } from '../../../../src/keys/key-problem.ts';

async function read(text: string | Buffer, chunkBytes = 7, form?: ImportForm): Promise<ImportLine[]> {
  return Array.fromAsync(readImport(chunksOf(text, chunkBytes), form));
}

async function* chunksOf(text: string | Buffer, chunkBytes: number): AsyncGenerator<Uint8Array> {
  const bytes = Buffer.from(text);
  for (let at = 0; at < bytes.length; at += chunkBytes) yield bytes.subarray(at, at + chunkBytes);
}

/** What is read before the file makes no sense any more, and what is said then. */
async function readUntilBroken(text: string, chunkBytes = 7) {
  const lines: ImportLine[] = [];
  try {
    for await (const line of readImport(chunksOf(text, chunkBytes))) lines.push(line);
  } catch (error) {
    assert.ok(error instanceof BrokenFile);
    return { lines, says: error.message };
  }
  return { lines, says: undefined };
}

test('CSV is read by its heading, with quotes, empty cells, lists and ends of either kind', async () => {
  const text =
    '\uFEFFsecret,name,scopes,labels,enabled,quotas\r\n' +
    'abc,"Smith, ""J."" Ä",names; /v1/*,team=x;b=y,false,daily=5/day\r\n' +
    '\r\n' +
    'def,,,,,\r\n' +
    'ghi,,,,TRUE,\r\n' +
    'jkl,,,,yes,';
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
    { number: 5, fields: { secret: 'ghi', enabled: true } },
    { number: 6, fields: { secret: 'jkl', enabled: 'yes' } }, // which no key can be
  ]);
});

test('blanks around a cell are no part of it, unless it is quoted, and none stands in front of a quote', async () => {
  const text = 'secret, plan , name\nabc , free,\t\n def,"free"," J "\nghi,free, "J"\njkl, free , J "x"\n';
  assert.deepEqual(await read(text), [
    { number: 2, fields: { secret: 'abc', plan: 'free' } },
    { number: 3, fields: { secret: 'def', plan: 'free', name: ' J ' } },
    { number: 4, fault: 'has a blank in front of a quote' },
    { number: 5, fields: { secret: 'jkl', plan: 'free', name: 'J "x"' } },
  ]);
});

for (const chunkBytes of [1, 2, 3, 1000]) {
  test(`a quoted cell holds its line breaks, and none of it is a record, ${chunkBytes} bytes at a time`, async () => {
    const text =
      'secret,name,plan\n' +
      'abc,"x\nchosen-by-somebody,y,free\n""\r\n\n",free\r\n' +
      'def,a "quote\n' +
      'ghi,"",paid\n' +
      '"jkl","Ä\nÖ","free"\r\n' +
      'mno';
    assert.deepEqual(await read(text, chunkBytes), [
      { number: 2, fields: { secret: 'abc', name: 'x\nchosen-by-somebody,y,free\n"\r\n\n', plan: 'free' } },
      { number: 7, fault: 'has 2 cells and not 3' },
      { number: 8, fields: { secret: 'ghi', plan: 'paid' } },
      { number: 9, fields: { secret: 'jkl', name: 'Ä\nÖ', plan: 'free' } },
      { number: 11, fault: 'has 1 cell and not 3' },
    ]);
  });
}

test('a quoted cell behind a blank is refused with all its lines, and none of them is a record', async () => {
  for (const blank of [' ', '\t', ' \t ']) {
    const text = `secret,name,plan\nabc,${blank}"x\nchosen,y,free\n",free\ndef,"z",free\n`;
    assert.deepEqual(await read(text), [
      { number: 2, fault: 'has a blank in front of a quote' },
      { number: 5, fields: { secret: 'def', name: 'z', plan: 'free' } },
    ]);
  }
});

test('what is not UTF-8 spoils all lines of its record and no other', async () => {
  const text = Buffer.from('secret,name\nabc,"x\n\u00ff\nchosen,y"\ndef,z\n', 'latin1');
  assert.deepEqual(await read(text), [
    { number: 2, fault: 'is not UTF-8' },
    { number: 5, fields: { secret: 'def', name: 'z' } },
  ]);
});

const x140kB = 'x'.repeat(140_000);
const orText = ', or text behind the end of a quoted cell';
for (const [what, record, further = ''] of [
  ['a quote that is never closed', 'abc,"x\nchosen,y\n'],
  ['a quote that is never closed, at the very end', 'abc,"'],
  ['a quote that the next one closes', 'abc,"x\n"chosen",y\n', orText],
  ['a cell that goes on behind its quote', 'abc,"x"y\nchosen,y\n', orText],
  ['a cell that goes on with a blank and a line break', 'abc,"x" \nchosen,y\n', orText],
  ['a quote behind a blank that is never closed', 'abc, "x\nchosen,y\n'],
  ['a return in front of another', 'abc,"x"\r\r\nchosen,y\n', orText],
  ['a quote that is closed too late', `abc,"${'x\n'.repeat(70_000)}"\nchosen,y\n`, ' within 131072 bytes'],
  ['a quote that is opened too late', `abc,${x140kB},"x\nchosen,y\n`, ' within 131072 bytes'],
] as const) {
  test(`${what} ends the reading, and nothing behind it is a record`, async () => {
    for (const chunkBytes of [record.length < 100 ? 1 : 61, 4096, 1_000_000]) {
      assert.deepEqual(await readUntilBroken(`secret,name\ndef,z\n${record}`, chunkBytes), {
        lines: [{ number: 2, fields: { secret: 'def', name: 'z' } }],
        says: `line 3 has a quote that is not closed${further}; nothing from there on was read`,
      });
    }
  });
}

test('a record of several lines may be as long as a line may', async () => {
  const name = 'x\n'.repeat(64_000);
  const fault = 'is longer than 131072 bytes';
  const text = `secret,name\na,"${name}"\nb,"${name}${x140kB}"\nc,d\n`;
  assert.deepEqual(await read(text, 4096), [
    { number: 2, fields: { secret: 'a', name } },
    { number: 64_003, fault },
    { number: 128_004, fields: { secret: 'c', name: 'd' } },
  ]);
});

test('a line may be as long as is said, and not a byte longer', async () => {
  const name = 'x'.repeat(128 * 1024 - '{"name":""}'.length);
  assert.deepEqual(await read(`{"name":"${name}"}\n{"name":"${name}x"}\n`, 4096), [
    { number: 1, fields: { name } },
    { number: 2, fault: 'is longer than 131072 bytes' },
  ]);
});

/** A line that is longer than any text can be, and another. */
async function* overlong(): AsyncGenerator<Uint8Array> {
  const piece = Buffer.alloc(256 * 1024, 'x');
  for (let bytes = 0; bytes <= constants.MAX_STRING_LENGTH; bytes += piece.length) yield piece;
  yield Buffer.from('\n{"secret":"a"}\n');
}

test('a line may be longer than any text can be, and the next is read', async () => {
  assert.deepEqual(await Array.fromAsync(readImport(overlong(), 'json')), [
    { number: 1, fault: 'is longer than 131072 bytes' },
    { number: 2, fields: { secret: 'a' } },
  ]);
});

test('a heading that cannot be read has no other line in its place', async () => {
  const heading = `${x140kB}\nsecret,name\nabc,x\n`;
  assert.deepEqual(await readUntilBroken(heading, 4096), {
    lines: [],
    says: 'line 1 is longer than 131072 bytes',
  });
});

test('a heading that is too long is not read to its end, which that of a device never has', async () => {
  let pieces = 0;
  async function* zeros(): AsyncGenerator<Uint8Array> {
    for (; pieces < 100; pieces += 1) yield new Uint8Array(64 * 1024);
  }
  const says = /^BrokenFile: line 1 is longer than 131072 bytes$/;
  for (const form of [undefined, 'csv'] as const) {
    pieces = 0;
    await assert.rejects(Array.fromAsync(readImport(zeros(), form)), says);
    assert.equal(pieces, 2);
  }
});

test('JSON lines are read one by one', async () => {
  assert.deepEqual(await read('{"secret":"a,"}\n[1]\n{"secret":\n{"hash":"b"}\n'), [
    { number: 1, fields: { secret: 'a,' } },
    { number: 2, fault: 'is not a JSON object, or holds a field twice' },
    { number: 3, fault: 'is not a JSON object, or holds a field twice' },
    { number: 4, fields: { hash: 'b' } },
  ]);
});

test('a list of JSON objects is told that they stand alone, each in its line', async () => {
  const says =
    /^BrokenFile: line \d begins a list: write one JSON object per line, without \[ \] around them$/;
  for (const list of ['[{"secret":"a"}]', '\n \t[\n  {"secret": "a"},\n', `\uFEFF[{"name":"${x140kB}"}`]) {
    for (const form of [undefined, 'json'] as const) await assert.rejects(read(list, 4096, form), says);
  }
  await assert.rejects(read('[secret]\n', 7, 'csv'), /^BrokenFile: line 1 must name the columns/);
});

test('a JSON object over several lines, as jq prints it, is told so once', async () => {
  const says =
    /^BrokenFile: line \d begins an object that goes on below: write each on a line of its own, as "jq -c" does$/;
  for (const start of ['{\n  "secret": "a"\n}\n', '\uFEFF\n { \r\n"secret": "a" }', '{']) {
    for (const form of [undefined, 'json'] as const) await assert.rejects(read(start, 4096, form), says);
  }
});

test('a line of blanks is no line, wherever it stands', async () => {
  for (const blank of ['', ' ', '\t \r']) {
    const key = { number: 4, fields: { secret: 'a' } };
    assert.deepEqual(await read(`${blank}\nsecret\n${blank}\na\n${blank}`), [key]);
    assert.deepEqual(await read(`${blank}\n\n${blank}\n{"secret":"a"}\n${blank}\n`), [key]);
  }
});

test('a blank in front of the first line does not make it CSV', async () => {
  for (const blank of [' ', '\t', '\uFEFF \t']) {
    assert.deepEqual(await read(`${blank}{"secret":"a"}\n`), [{ number: 1, fields: { secret: 'a' } }]);
  }
});

test('lines that are malformed or endless are told by number, and the rest is read', async () => {
  const long = 'x'.repeat(200_000);
  const lines = await read(`secret,plan\na,b,c\n${long}\n${long},"free"\nlabel,free\n`, 4096);
  assert.deepEqual(
    lines.map((line) => ('fault' in line ? [line.number, line.fault] : line.number)),
    [[2, 'has 3 cells and not 2'], [3, 'is longer than 131072 bytes'], [4, 'is longer than 131072 bytes'], 5],
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
      error.message.startsWith('line 1 must name the columns') &&
      !/sk-my/.test(error.message),
  );
  await assert.rejects(read('secret,ownr\n'), /the name of column 2 is not known, did you mean "owner"\?/);
  await assert.rejects(read('secret,Expires At\n'), /column 2 is not known, did you mean "expiresAt"\?/);
  await assert.rejects(read('\n\nsecret,secret\n'), /^BrokenFile: line 3 names a column twice$/);
  await assert.rejects(read('\uFEFF"secret,name\n'), /^BrokenFile: line 1 has a quote that is not closed$/);
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
    { number: 1, fault: 'is not a JSON object, or holds a field twice' },
    { number: 2, fault: 'is not a JSON object, or holds a field twice' },
  ]);
});
