import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { test } from 'node:test';
import { main } from '../../helpers/run-cli.ts';

const scriptFor = (shell: string) =>
  execFileSync(process.execPath, [main, 'completion', shell], { encoding: 'utf8' });
const script = scriptFor('bash');

for (const { words, offers } of [
  { words: ['gatehouse', 'k'], offers: ['keys'] },
  { words: ['gatehouse', 'keys', 'ro'], offers: ['rotate'] },
  { words: ['gatehouse', 'keys', 'rotate', 'key_01', '--o'], offers: ['--overlap'] },
  { words: ['gatehouse', 'completion', '--h'], offers: ['--help'] },
  { words: ['gatehouse', 'completion', "''"], offers: ['bash', 'zsh', 'fish', '--help'] },
  { words: ['gatehouse', 'check', '--config', "''"], offers: [] },
  { words: ['gatehouse', 'keys', 'import', "''"], offers: [] },
  { words: ['gatehouse', 'keys', 'import', '--plan', 'free', 'ke'], offers: [] },
  { words: ['gatehouse', 'keys', 'import', '--u'], offers: ['--update'] },
]) {
  test(`bash offers ${offers.join(' ') || 'files'} for ${words.join(' ')}`, () => {
    const line = `COMP_WORDS=(${words.join(' ')}); COMP_CWORD=${words.length - 1}; _gatehouse; echo "\${COMPREPLY[@]}"`;
    const offered = execFileSync('bash', ['-c', `${script}\n${line}`], { encoding: 'utf8' });
    assert.equal(offered.trim(), offers.join(' '));
  });
}

// zsh stopped with "unrecognized modifier" at `${COMP_WORDS[@]:1:COMP_CWORD-1}`, and so it offered nothing but files.
test('zsh finds nothing in its script that it takes for a modifier', () => {
  assert.doesNotMatch(scriptFor('zsh'), /\$\{[^}]*:[A-Za-z]/);
});

test('zsh has its own completions switched on before those of bash, which need them', () => {
  assert.match(scriptFor('zsh'), /^whence compdef .*compinit; \}\nautoload -U \+X bashcompinit/);
});
