import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { text } from 'node:stream/consumers';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';

test('what loading left behind is gone before anything else happens', async () => {
  const told = await toldBy('leave-garbage.ts');
  assert.ok(Number(told) > 10, told);
});

test('V8 learns about a function that has only ever refused, from its first call', async () => {
  assert.equal(await toldBy('refuse-once.ts'), 'system / FeedbackVector');
});

async function toldBy(program: string): Promise<string> {
  const path = fileURLToPath(new URL(`../../../fixtures/${program}`, import.meta.url));
  const child = spawn(process.execPath, [path]);
  const [told] = await Promise.all([text(child.stdout), once(child, 'exit')]);
  return told;
}
