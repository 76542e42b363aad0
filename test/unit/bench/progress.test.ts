import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createProgress } from '../../../bench/progress.ts';

function written(isTTY: boolean, columns: number): string {
  let all = '';
  const write = (text: string): boolean => ((all += text), true);
  createProgress({ isTTY, columns, write })('gatehouse warms up');
  return all;
}

test('the line of progress is cut to the width of its terminal, where there is one', () => {
  assert.equal(written(true, 80), '\r\u001B[Kgatehouse warms up');
  assert.equal(written(true, 10), '\r\u001B[Kgatehouse', 'a full line would wrap');
  assert.equal(written(true, 0), '\r\u001B[Kgatehouse warms up', 'a terminal that does not tell its width');
  assert.equal(written(false, 80), '');
});
