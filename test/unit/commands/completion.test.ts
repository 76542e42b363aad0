import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';

const main = fileURLToPath(new URL('../../../src/main.ts', import.meta.url));
const script = execFileSync(process.execPath, [main, 'completion', 'bash'], { encoding: 'utf8' });

for (const { words, offers } of [
  { words: ['gatehouse', 'k'], offers: ['keys'] },
  { words: ['gatehouse', 'keys', 'ro'], offers: ['rotate'] },
  { words: ['gatehouse', 'keys', 'rotate', 'key_01', '--o'], offers: ['--overlap'] },
  { words: ['gatehouse', 'completion', '--h'], offers: ['--help'] },
  { words: ['gatehouse', 'completion', "''"], offers: ['bash', 'zsh', 'fish', '--help'] },
  { words: ['gatehouse', 'check', '--config', "''"], offers: [] },
]) {
  test(`bash offers ${offers.join(' ') || 'files'} for ${words.join(' ')}`, () => {
    const line = `COMP_WORDS=(${words.join(' ')}); COMP_CWORD=${words.length - 1}; _gatehouse; echo "\${COMPREPLY[@]}"`;
    const offered = execFileSync('bash', ['-c', `${script}\n${line}`], { encoding: 'utf8' });
    assert.equal(offered.trim(), offers.join(' '));
  });
}
