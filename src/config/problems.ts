/** One thing that is wrong, or doubtful, and where it stands. */
export interface Problem {
  readonly file: string;
  /** From 1. */
  readonly line: number;
  readonly column: number;
  /** `routes[0].upstream`; '' for the file as a whole. */
  readonly path: string;
  readonly message: string;
}

/** What to say of it, or how to find the words, where that takes a search among thousands of names. */
export type Sentence = string | (() => string);

/** A problem of which nothing has been said yet. */
export interface Finding extends Omit<Problem, 'message'> {
  readonly message: Sentence;
}

const toldMax = 100;

/** What is wrong with a configuration file, in the order of its lines. */
export class ConfigErrors extends Error {
  /** The first hundred. */
  readonly problems: readonly Problem[];
  /** Of all. */
  readonly count: number;
  /** The problems, and how many there are beyond them. */
  readonly lines: readonly string[];

  constructor(found: readonly Finding[]) {
    const problems = found.slice(0, toldMax).map(tell);
    const rest = found.length > toldMax ? [`… and ${found.length - toldMax} more`] : [];
    const lines = [...problems.map(printProblem), ...rest];
    super(lines.join('\n'));
    this.name = 'ConfigErrors';
    this.problems = problems;
    this.count = found.length;
    this.lines = lines;
  }
}

/** The configuration file could not be opened or read at all, so there is nothing to correct in it. */
export class ConfigUnreadable extends Error {
  constructor(file: string, reason: string) {
    super(`${file === '' ? '""' : file} ${reason}`);
    this.name = 'ConfigUnreadable';
  }
}

/** `config/gateway.yaml:12:7: routes[0].upstream: there is no upstream "x"`, as editors and terminals link it. */
export function printProblem({ file, line, column, path, message }: Problem): string {
  return `${file}:${line}:${column}: ${path === '' ? '' : `${path}: `}${message}`;
}

/** In the order a reader meets them. */
export function sortProblems<Found extends Finding>(problems: readonly Found[]): readonly Found[] {
  return problems.toSorted((a, b) => a.line - b.line || a.column - b.column);
}

function tell(found: Finding): Problem {
  const { message } = found;
  return { ...found, message: typeof message === 'string' ? message : message() };
}
