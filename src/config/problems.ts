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

const printedMax = 100;

/** Everything that is wrong with a configuration file, in the order of its lines. */
export class ConfigErrors extends Error {
  readonly problems: readonly Problem[];

  constructor(problems: readonly Problem[]) {
    super(printProblems(problems));
    this.name = 'ConfigErrors';
    this.problems = problems;
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
export function sortProblems(problems: readonly Problem[]): readonly Problem[] {
  return problems.toSorted((a, b) => a.line - b.line || a.column - b.column);
}

function printProblems(problems: readonly Problem[]): string {
  const lines = problems.slice(0, printedMax).map(printProblem);
  if (problems.length > printedMax) lines.push(`… and ${problems.length - printedMax} more`);
  return lines.join('\n');
}
