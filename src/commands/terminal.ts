import { createInterface } from 'node:readline/promises';
import { styleText } from 'node:util';
import { exitCodes } from '../exit-codes.ts';

/** Where a command reads from and writes to. */
export interface Terminal {
  readonly stdin: NodeJS.ReadStream;
  /** What was asked for, and nothing else: scripts read it. */
  readonly stdout: NodeJS.WriteStream;
  /** What people are told besides. */
  readonly stderr: NodeJS.WriteStream;
}

/** The terminal of this process. */
export function processTerminal(): Terminal {
  return { stdin: process.stdin, stdout: process.stdout, stderr: process.stderr };
}

/** True, or the exit code with which to end: nothing is destroyed that nobody agreed to. */
export async function agree(
  question: string,
  { yes }: { readonly yes?: boolean },
  terminal: Terminal,
): Promise<true | number> {
  if (yes === true) return true;
  const answer = await confirm(question, terminal);
  if (answer === true) return true;
  if (answer === false) {
    terminal.stderr.write('Nothing was changed.\n');
    return exitCodes.failed;
  }
  terminal.stderr.write('gatehouse: nobody is there to ask, add --yes to go on without asking\n');
  return exitCodes.usage;
}

/** Undefined when nobody is there to ask. */
async function confirm(question: string, { stdin, stderr }: Terminal): Promise<boolean | undefined> {
  if (!stdin.isTTY) return undefined;
  const lines = createInterface({ input: stdin, output: stderr });
  try {
    return /^y(es)?$/i.test((await lines.question(`${question} [y/N] `)).trim());
  } finally {
    lines.close();
  }
}

/** Text in the stream's colours, if it has any. */
export function paint(
  colour: 'red' | 'green' | 'yellow' | 'dim' | 'bold',
  text: string,
  stream: NodeJS.WritableStream,
): string {
  return styleText(colour, text, { stream });
}

/** Rows with their cells under each other, without blanks at the ends. */
export function alignRows(rows: readonly (readonly string[])[]): readonly string[] {
  const widths: number[] = [];
  for (const row of rows) {
    for (const [at, cell] of row.entries()) widths[at] = Math.max(widths[at] ?? 0, cell.length);
  }
  return rows.map((row) =>
    row
      .map((cell, at) => cell.padEnd(widths[at] ?? 0))
      .join('  ')
      .trimEnd(),
  );
}
