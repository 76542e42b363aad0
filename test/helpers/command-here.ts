import { PassThrough, Readable } from 'node:stream';
import { text } from 'node:stream/consumers';
import { runCommand } from '../../src/commands/program.ts';
import type { CliRun } from './run-cli.ts';

/**
 * Runs `gatehouse` with these words within this process, for what does not depend on there being another: it says and does the
 * same without the start. They take turns, because a process has one standard output.
 */
export function commandHere(words: readonly string[], input = ''): Promise<CliRun> {
  const run = last.then(() => runHere(words, input));
  last = run.catch(() => undefined);
  return run;
}

let last: Promise<unknown> = Promise.resolve();

async function runHere(words: readonly string[], input: string): Promise<CliRun> {
  const [stdout, stderr] = [new PassThrough(), new PassThrough()];
  const written = Promise.all([text(stdout), text(stderr)]);
  const { exitCode } = process;
  const restore = replace(process, {
    argv: [...process.argv.slice(0, 1), 'gatehouse', ...words],
    stdin: Readable.from(input === '' ? [] : [Buffer.from(input)]),
    stdout,
    stderr,
  });
  process.exitCode = undefined;
  let code = 0;
  try {
    await runCommand();
    code = exitCodeOf(process);
  } finally {
    process.exitCode = exitCode;
    restore();
    for (const stream of [stdout, stderr]) stream.end();
  }
  const [out, err] = await written;
  return { code, stdout: out, stderr: err };
}

function exitCodeOf({ exitCode }: Pick<NodeJS.Process, 'exitCode'>): number {
  return Number(exitCode ?? 0);
}

/** Puts other values in place of an object's, and returns what undoes it. */
function replace(object: object, values: Readonly<Record<string, unknown>>): () => void {
  const before = Object.keys(values).map(
    (name) => [name, Object.getOwnPropertyDescriptor(object, name)!] as const,
  );
  for (const [name, value] of Object.entries(values))
    Object.defineProperty(object, name, { value, configurable: true, enumerable: true, writable: true });
  return () => before.forEach(([name, descriptor]) => Object.defineProperty(object, name, descriptor));
}
