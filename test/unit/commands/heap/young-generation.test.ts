import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { describe, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { youngGeneration } from '../../../../src/commands/heap/young-generation.ts';
import { runOf } from '../../../helpers/run-cli.ts';

/** Seen so often it has not stayed yet. */
const crowd = [257, 257, 257, 257];
const program = fileURLToPath(new URL('../../../fixtures/fill-young-generation.ts', import.meta.url));

describe('the young generation', { concurrency: true }, () => {
  for (const { title, seen, flags, mb } of [
    {
      title: 'stays small while few are in flight',
      seen: Array(9).fill(256),
      flags: youngGeneration,
      mb: 10,
    },
    {
      title: 'stays small in a crowd that leaves',
      seen: [...crowd, 257, 256, ...crowd],
      flags: youngGeneration,
      mb: 10,
    },
    { title: 'grows in a crowd that stays', seen: [...crowd, 257], flags: youngGeneration, mb: 16 },
    {
      title: 'grows no more once the crowd has left',
      seen: [...crowd, 257, 256],
      flags: youngGeneration,
      mb: 10,
    },
    {
      title: 'grows as V8 likes from the size that somebody chose',
      seen: [0],
      flags: ['--max-semi-space-size=16', '--min-semi-space-size=6'],
      mb: 16,
    },
  ]) {
    test(title, async () => {
      const child = spawn(process.execPath, [...flags, program, ...seen.map(String)]);
      const { stdout: told } = await runOf(child);
      assert.equal(Number(told), mb);
    });
  }
});
