import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { text } from 'node:stream/consumers';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';

const program = fileURLToPath(new URL('../../../fixtures/leave-garbage.ts', import.meta.url));

test('what loading left behind is gone before anything else happens', async () => {
  const child = spawn(process.execPath, [program]);
  const [told] = await Promise.all([text(child.stdout), once(child, 'exit')]);
  assert.ok(Number(told) > 10, told);
});
