import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { runOf } from '../../../helpers/run-cli.ts';

test('what loading left behind is gone before anything else happens', async () => {
  const told = await toldBy('leave-garbage.ts');
  assert.ok(Number(told) > 10, told);
});

test('V8 learns about a function that has only ever refused, from its first call', async () => {
  assert.equal(await toldBy('refuse-once.ts'), 'system / FeedbackVector');
});

async function toldBy(program: string): Promise<string> {
  const path = fileURLToPath(new URL(`../../../fixtures/${program}`, import.meta.url));
  const { stdout } = await runOf(spawn(process.execPath, [path]));
  return stdout;
}
