import type { Command } from 'commander';

export type Shell = 'bash' | 'zsh' | 'fish';

/** What can be written after the words of a command. */
interface CommandWords {
  /** `keys list`; '' for the program itself. */
  readonly path: string;
  readonly words: readonly Word[];
  /** Whether a file can be written there, such as `keys import keys.csv`. */
  readonly takesFile: boolean;
}

interface Word {
  readonly word: string;
  readonly description: string;
  /** Such as `--config`, which a file can follow. */
  readonly takesValue?: boolean;
}

/** zsh runs the completions of bash, on top of its own, which nothing has switched on where there is no configuration. */
const zshStart = `whence compdef > /dev/null || { autoload -U +X compinit && compinit; }
autoload -U +X bashcompinit && bashcompinit
`;

/** A script that teaches a shell the commands and options of the program, made from the program's own definitions. */
export function completionScript(shell: Shell, program: Command): string {
  const commands = wordsOf(program, '');
  if (shell === 'fish') return fishScript(program.name(), commands);
  return `${shell === 'zsh' ? zshStart : ''}${bashScript(program.name(), commands)}`;
}

function wordsOf(command: Command, path: string): readonly CommandWords[] {
  const all = command.createHelp().visibleCommands(command);
  const visible = all.filter((child) => child.name() !== 'help');
  const commands = visible.map((child) => ({ word: child.name(), description: child.description() }));
  const choices = command.registeredArguments.flatMap(({ argChoices = [], description }) =>
    argChoices.map((word) => ({ word, description })),
  );
  const options = command.options.flatMap(({ long, description, required }) =>
    typeof long === 'string' ? [{ word: long, description, takesValue: required }] : [],
  );
  const here = {
    path,
    words: [...commands, ...choices, ...options, { word: '--help', description: 'explain the command' }],
    takesFile: command.registeredArguments.some((argument) => argument.name() === 'file'),
  };
  return [here, ...visible.flatMap((child) => wordsOf(child, `${path} ${child.name()}`.trim()))];
}

/**
 * Words that are neither an option nor a command are values; they follow the command, whose words are still offered. Those of `help`
 * are commands. For the value of an option, and where a command takes a file, files are offered, as a shell does by itself when it has
 * nothing else. What is computed stands in `$((…))`: in a slice zsh takes a letter after the colon for a modifier.
 */
function bashScript(name: string, commands: readonly CommandWords[]): string {
  const longestFirst = commands.toSorted((a, b) => b.path.length - a.path.length);
  const cases = longestFirst.map(({ path, words, takesFile }) => {
    const pattern = path === '' ? '*' : `" ${path}"*`;
    const filesFirst = takesFile ? '[[ ${COMP_WORDS[COMP_CWORD]} == -* ]] || return; ' : '';
    return `    ${pattern}) ${filesFirst}words="${words.map(({ word }) => word).join(' ')}" ;;`;
  });
  const valued = new Set(
    commands.flatMap(({ words }) => words.filter((each) => each.takesValue)).map(({ word }) => word),
  );
  return `_${name}() {
  local word words path=""
  COMPREPLY=()
  case "\${COMP_WORDS[COMP_CWORD-1]}" in -c|${[...valued].join('|')}) return ;; esac
  for word in "\${COMP_WORDS[@]:1:$((COMP_CWORD - 1))}"; do
    case "$word" in -*|help) ;; *) path="$path $word" ;; esac
  done
  case "$path" in
${cases.join('\n')}
  esac
  COMPREPLY=($(compgen -W "$words" -- "\${COMP_WORDS[COMP_CWORD]}"))
}
complete -o default -F _${name} ${name}
`;
}

function fishScript(name: string, commands: readonly CommandWords[]): string {
  const lines = commands.flatMap(({ path, words }) => {
    const deeper = commands.filter((each) => each.path !== '' && parentOf(each.path) === path).map(lastOf);
    const seen = path
      .split(' ')
      .filter(Boolean)
      .map((word) => `__fish_seen_subcommand_from ${word}`);
    const unseen = deeper.length === 0 ? [] : [`not __fish_seen_subcommand_from ${deeper.join(' ')}`];
    const condition = [...seen, ...unseen].join('; and ');
    return words.map(({ word, description, takesValue }) => {
      const option = `-l ${word.slice(2)}${takesValue === true ? ' -r' : ''}`;
      const offer = word.startsWith('--') ? option : `-f -a ${word}`;
      return `complete -c ${name} -n ${quote(condition)} ${offer} -d ${quote(description)}`;
    });
  });
  return `${lines.join('\n')}\n`;
}

function parentOf(path: string): string {
  return path.split(' ').slice(0, -1).join(' ');
}

function lastOf({ path }: CommandWords): string {
  return path.split(' ').at(-1) ?? '';
}

function quote(text: string): string {
  return `'${text.replaceAll('\\', '\\\\').replaceAll("'", "\\'")}'`;
}
