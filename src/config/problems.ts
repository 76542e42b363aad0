import { resolve } from 'node:path';

/** One thing that is wrong, or doubtful, and where it stands. */
export interface Problem {
  readonly file: string;
  /** From 1. */
  readonly line: number;
  readonly column: number;
  /** `routes[0].upstream`; '' for the file as a whole. */
  readonly path: string;
  readonly message: Sentence;
}

/** What to say of it, or how to find the words, where that takes a search among thousands of names. */
export type Sentence = string | (() => string);

const toldMax = 100;

/** What is wrong with a configuration file. */
export class ConfigErrors extends Error {
  override readonly name = 'ConfigErrors';
  /** Of all. */
  readonly count: number;
  /** The first hundred, and how many there are beyond them. */
  readonly lines: readonly string[];

  constructor(problems: readonly Problem[]) {
    const rest = problems.length > toldMax ? [`… and ${problems.length - toldMax} more`] : [];
    const lines = [...printProblems(problems, toldMax), ...rest];
    super(lines.join('\n'));
    this.count = problems.length;
    this.lines = lines;
  }
}

/**
 * The configuration file could not be opened or read at all, so there is nothing to correct in it. Its name is told in full, as a
 * script of npm looks for it in the folder of the package, and not where it was typed.
 */
export class ConfigUnreadable extends Error {
  override readonly name = 'ConfigUnreadable';

  constructor(file: string, reason: string) {
    super(`${file === '' ? '""' : resolve(file)} ${reason}`);
  }
}

/**
 * In the order of their lines: `config/gateway.yaml:12:7: routes[0].upstream: there is no upstream "x"`, as editors and terminals
 * link it.
 */
export function printProblems(problems: readonly Problem[], most = Infinity): readonly string[] {
  const inOrder = problems.toSorted((a, b) => a.line - b.line || a.column - b.column);
  return inOrder.slice(0, most).map(print);
}

function print({ file, line, column, path, message }: Problem): string {
  const sentence = typeof message === 'string' ? message : message();
  return `${file}:${line}:${column}: ${path === '' ? '' : `${path}: `}${sentence}`;
}
