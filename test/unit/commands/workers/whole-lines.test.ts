import assert from 'node:assert/strict';
import { test } from 'node:test';
import { wholeLines } from '../../../../src/commands/workers/whole-lines.ts';

test('lines are handed on whole, in one piece where several came together, wherever they were cut', () => {
  const text = 'one\ntwo\n\nthree\nfour';
  for (let size = 1; size <= text.length; size += 1) {
    const handed: string[] = [];
    const take = wholeLines((lines) => void handed.push(lines));
    for (let at = 0; at < text.length; at += size) take(text.slice(at, at + size));
    assert.ok(
      handed.every((lines) => lines.endsWith('\n')),
      `pieces of ${size}`,
    );
    assert.equal(handed.join(''), 'one\ntwo\n\nthree\n', `pieces of ${size}`);
    take('teen\n');
    assert.equal(handed.at(-1), 'fourteen\n');
  }
});
