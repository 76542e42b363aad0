import assert from 'node:assert/strict';
import { PassThrough } from 'node:stream';
import { text } from 'node:stream/consumers';
import { test } from 'node:test';
import { alignRows, shorten } from '../../../src/commands/columns.ts';
import { createProgress } from '../../../src/commands/keys/import.ts';
import type { Terminal } from '../../../src/commands/terminal.ts';

test('a text is shortened to columns, and no character is cut in two', () => {
  const family = '👩‍👩‍👧';
  for (const [whole, shown] of [
    ['a'.repeat(24), 'a'.repeat(24)],
    ['a'.repeat(25), `${'a'.repeat(23)}…`],
    [`${'a'.repeat(22)}😀bbb`, `${'a'.repeat(22)}…`],
    [`${'a'.repeat(21)}😀bbb`, `${'a'.repeat(21)}😀…`],
    [`${'a'.repeat(21)}${family}bbb`, `${'a'.repeat(21)}${family}…`],
    ['名'.repeat(12), '名'.repeat(12)],
    ['名'.repeat(13), `${'名'.repeat(11)}…`],
    ['e\u0301'.repeat(24), 'e\u0301'.repeat(24)],
  ] as const) {
    assert.equal(shorten(whole, 24), shown);
  }
});

test('cells stand under each other behind names of any script', () => {
  const rows = [
    ['ab', '|'],
    ['名', '|'],
    ['😀', '|'],
    ['e\u0301', '|'],
  ];
  assert.deepEqual(alignRows(rows), ['ab  |', '名  |', '😀  |', 'e\u0301   |']);
});

test('marks of Japanese and Chinese texts are as wide as their letters, and half-width letters are not', () => {
  for (const shown of [
    'テストサーバー',
    '東京、大阪',
    '「本番」',
    '全角　空白',
    '￥￥',
    'ㄅㄆㄇ',
    '한국어',
  ]) {
    const wide = '名'.repeat(shown.length);
    assert.deepEqual(
      alignRows([
        [shown, '|'],
        [wide, '|'],
      ]),
      [`${shown}  |`, `${wide}  |`],
    );
  }
  assert.deepEqual(
    alignRows([
      ['ｱｲｳ', '|'],
      ['abc', '|'],
    ]),
    ['ｱｲｳ  |', 'abc  |'],
  );
});

test('a line that is written over fits into the terminal, however narrow it is', async () => {
  for (const [columns, fits] of [
    [50, 49],
    [0, 79],
  ] as const) {
    const stderr = Object.assign(new PassThrough(), { isTTY: true, columns });
    const progress = createProgress({ stderr } as unknown as Terminal);
    progress.show({
      lines: 200_000_000,
      added: 100_000_000,
      updated: 10_000_000,
      skipped: 100_000_000,
      refused: 0,
    });
    const [, line = ''] = (await text(stderr.end())).split('\r\u001B[K');
    assert.equal(line.length, fits);
    assert.match(line, /^200000000 lines: /);
  }
});

test('what is said above a line that is written over takes its place, and nothing of it stays', async (t) => {
  t.mock.method(performance, 'now', () => 0);
  const stderr = Object.assign(new PassThrough(), { isTTY: true, columns: 80 });
  const progress = createProgress({ stderr } as unknown as Terminal);
  const report = { lines: 1, added: 1, updated: 0, skipped: 0, refused: 0 };
  progress.show(report);
  progress.show({ ...report, lines: 2 }); // too soon to be seen
  progress.say('line 3: a fault');
  progress.end();
  const cleared = '\r\u001B[K';
  assert.equal(
    await text(stderr.end()),
    `${cleared}1 line: 1 added, 0 updated, 0 skipped, 0 refused${cleared}line 3: a fault\n${cleared}`,
  );
});
