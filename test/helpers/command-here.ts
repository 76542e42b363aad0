import type { EventEmitter } from 'node:events';
import { PassThrough, Readable } from 'node:stream';
import { text } from 'node:stream/consumers';
import { runCommand } from '../../src/commands/run-command.ts';
import type { CliRun } from './run-cli.ts';

/**
 * Runs `gatehouse` with these words within this process, for what does not depend on there being another: it says and does the
 * same without the start. They take turns, because a process has one standard output. What keeps a process from ending keeps this
 * one from it too. Of `serve` only a start that fails can be asked for, and its log goes to the standard output of this process.
 * Calls back with all that it has written to standard error, whenever that is more.
 */
export function commandHere(
  words: readonly string[],
  input: Input = '',
  onStderr?: (written: string) => void,
): Promise<CliRun> {
  const run = last.then(() => runHere(words, input, onStderr));
  last = run.catch(() => undefined);
  return run;
}

/** What standard input holds, or gives until it fails; or what somebody types on a terminal. */
type Input = string | AsyncIterable<Uint8Array> | { readonly typed: string };

let last: Promise<unknown> = Promise.resolve();

async function runHere(
  words: readonly string[],
  input: Input,
  onStderr?: (written: string) => void,
): Promise<CliRun> {
  // A log is written to the file itself.
  const stdout = Object.assign(new PassThrough(), { fd: process.stdout.fd });
  const stderr = new PassThrough();
  let said = '';
  stderr.on('data', (chunk: Buffer) => onStderr?.((said += chunk.toString())));
  const written = Promise.all([text(stdout), text(stderr)]);
  const { exitCode } = process;
  const forget = rememberListeners();
  const restore = replace(process, {
    argv: [...process.argv.slice(0, 1), 'gatehouse', ...words],
    stdin: stdinOf(input),
    stdout,
    stderr,
    exit: (code: number) => void (process.exitCode = code),
  });
  process.exitCode = undefined;
  let code = 0;
  try {
    await runCommand();
    code = exitCodeOf(process);
  } finally {
    process.exitCode = exitCode;
    restore();
    forget();
    for (const stream of [stdout, stderr]) stream.end();
  }
  const [out, err] = await written;
  return { code, stdout: out, stderr: err };
}

function stdinOf(input: Input): Readable {
  if (typeof input === 'string') return Readable.from(Buffer.from(input));
  if ('typed' in input) {
    const terminal = { isTTY: true, setRawMode: () => undefined };
    return Object.assign(Readable.from(Buffer.from(input.typed)), terminal);
  }
  return Readable.from(input);
}

function exitCodeOf({ exitCode }: Pick<NodeJS.Process, 'exitCode'>): number {
  return Number(exitCode ?? 0);
}

/** Returns what takes away those that this process gets from now on. */
function rememberListeners(): () => void {
  const emitter: EventEmitter = process;
  const all = () => emitter.eventNames().map((name) => [name, emitter.listeners(name)] as const);
  const before = new Set(all().flatMap(([, listeners]) => listeners));
  return () => {
    for (const [name, listeners] of all())
      for (const listener of listeners)
        if (!before.has(listener)) emitter.removeListener(name, listener as () => void);
  };
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
