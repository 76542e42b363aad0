import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { test } from 'node:test';
import { Argument, Command } from 'commander';
import { completionScript } from '../../../src/commands/completion.ts';
import { main } from '../../helpers/run-cli.ts';

const scriptFor = (shell: string) =>
  execFileSync(process.execPath, [main, 'completion', shell], { encoding: 'utf8' });
const script = scriptFor('bash');

for (const { words, offers } of [
  { words: ['gatehouse', 'k'], offers: ['keys'] },
  { words: ['gatehouse', 'keys'], offers: ['keys'] },
  { words: ['gatehouse', 'keys', 'ro'], offers: ['rotate'] },
  { words: ['gatehouse', 'keys', 'rotate', 'key_01', '--o'], offers: ['--overlap'] },
  { words: ['gatehouse', 'help', 'ke'], offers: ['keys'] },
  { words: ['gatehouse', 'help', 'keys', 'ro'], offers: ['rotate'] },
  { words: ['gatehouse', 'keys', 'help', 'ro'], offers: ['rotate'] },
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
  const start = `whence compdef > /dev/null || { autoload -U +X compinit && compinit; }
autoload -U +X bashcompinit && bashcompinit
`;
  assert.equal(scriptFor('zsh'), start + script);
});

test('fish is told what can be written where, what it means, and after which options a value comes', () => {
  const program = new Command('tool').version('1');
  program.command('run').addArgument(new Argument('<how>', 'the way').choices(['fast', 'slow']));
  const keys = program.command('keys').description("a key's life");
  keys
    .command('make')
    .description('a \\ b')
    .option('-p, --plan <plan>', 'its plan')
    .option('--now', 'at once');
  keys.command('end');
  const none = 'not __fish_seen_subcommand_from run keys';
  const inKeys = '__fish_seen_subcommand_from keys';
  const help = "-l help -d 'explain the command'";
  assert.deepEqual(completionScript('fish', program).trimEnd().split('\n'), [
    `complete -c tool -n '${none}' -f -a run -d ''`,
    `complete -c tool -n '${none}' -f -a keys -d 'a key\\'s life'`,
    `complete -c tool -n '${none}' -l version -d 'output the version number'`,
    `complete -c tool -n '${none}' ${help}`,
    `complete -c tool -n '__fish_seen_subcommand_from run' -f -a fast -d 'the way'`,
    `complete -c tool -n '__fish_seen_subcommand_from run' -f -a slow -d 'the way'`,
    `complete -c tool -n '__fish_seen_subcommand_from run' ${help}`,
    `complete -c tool -n '${inKeys}; and not __fish_seen_subcommand_from make end' -f -a make -d 'a \\\\ b'`,
    `complete -c tool -n '${inKeys}; and not __fish_seen_subcommand_from make end' -f -a end -d ''`,
    `complete -c tool -n '${inKeys}; and not __fish_seen_subcommand_from make end' ${help}`,
    `complete -c tool -n '${inKeys}; and __fish_seen_subcommand_from make' -l plan -r -d 'its plan'`,
    `complete -c tool -n '${inKeys}; and __fish_seen_subcommand_from make' -l now -d 'at once'`,
    `complete -c tool -n '${inKeys}; and __fish_seen_subcommand_from make' ${help}`,
    `complete -c tool -n '${inKeys}; and __fish_seen_subcommand_from end' ${help}`,
  ]);
});
