import { createInterface } from 'node:readline';
import { invalidField } from '../keys/key-problem.ts';
import { collectAll } from '../wire/collected-bytes.ts';
import { endedBy, exitCodes } from './exit-codes.ts';

/** Where a command reads from and writes to: the process. */
export interface Terminal {
  readonly stdin: NodeJS.ReadStream;
  /** What was asked for, and nothing else: scripts read it. */
  readonly stdout: NodeJS.WriteStream;
  /** What people are told besides. */
  readonly stderr: NodeJS.WriteStream;
}

const ctrlC = '\u0003';
const ctrlD = '\u0004';

/** True, or the exit code to end with: nothing is destroyed without consent. */
export async function agree(
  question: string,
  { yes }: { readonly yes?: boolean },
  terminal: Terminal,
): Promise<true | number> {
  if (yes === true) return true;
  if (!terminal.stdin.isTTY) {
    terminal.stderr.write('gatehouse: nobody is there to ask, add --yes to go on without asking\n');
    return exitCodes.usage;
  }
  const answer = await ask(`${question} [y/N] `, terminal);
  if (/^y(es)?$/i.test(answer.trim())) return true;
  const brokenOff = answer === ctrlC || answer === ctrlD;
  terminal.stderr.write(`${brokenOff ? '\n' : ''}Nothing was changed.\n`);
  return answer === ctrlC ? endedBy.SIGINT : exitCodes.failed;
}

/** What was typed; Ctrl-C or Ctrl-D if that was pressed instead. */
async function ask(question: string, { stdin, stderr }: Terminal): Promise<string> {
  const lines = createInterface({ input: stdin, output: stderr });
  const answer = await new Promise<string>((resolve) => {
    lines.once('SIGINT', () => resolve(ctrlC));
    lines.once('close', () => resolve(ctrlD));
    lines.question(question, resolve);
  });
  lines.close();
  return answer;
}

/**
 * Undefined for Ctrl-C. A key never goes on a command line, where other users and the shell history can see it. What is longer than
 * `bytesMax` is refused: it is no key, but perhaps the wrong file.
 */
export async function readSecret({ stdin, stderr }: Terminal, bytesMax: number): Promise<string | undefined> {
  // Read as text it would lose a byte order mark, with which no key is found.
  if (!stdin.isTTY) return (await collectAll(stdin, bytesMax, moreThanAKey)).toString().replace(/\r?\n$/, '');
  // Before the question: what is typed at once would be shown, and Ctrl-C would not be ours.
  stdin.setRawMode(true);
  stderr.write('Key (it is not shown): ');
  let typed = '';
  try {
    for await (const chunk of stdin) {
      for (const character of String(chunk)) {
        if (character === '\r' || character === '\n' || character === ctrlD) return typed;
        if (character === ctrlC) return undefined;
        typed = character === '\u007F' || character === '\b' ? typed.slice(0, -1) : typed + character;
      }
    }
    return typed;
  } finally {
    stdin.setRawMode(false);
    stderr.write('\n');
  }
}

function moreThanAKey(): Error {
  return invalidField('', 'standard input holds more than a key: it would not fit the head of a request');
}
