import { spawn, type ChildProcess } from 'node:child_process';
import { fileURLToPath } from 'node:url';

/** What a command wrote, and how it ended. */
export interface CliRun {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** What `gatehouse` is in a checkout. */
export const main = fileURLToPath(new URL('../../src/main.ts', import.meta.url));

/** A command that does not end by itself is ended then, with the code null. */
const LONGEST_MS = 60_000;

/**
 * Runs `gatehouse` with these words; standard input is the text, as soon as it is there, and no terminal. Calls back with all
 * that it has written to standard error, whenever that is more.
 */
export function runCli(
  words: readonly string[],
  input: string | Promise<string> = '',
  onStderr?: (written: string) => void,
): Promise<CliRun> {
  const child = spawn(process.execPath, [main, ...words], {
    stdio: ['pipe', 'pipe', 'pipe'],
    timeout: LONGEST_MS,
  });
  child.stdin.on('error', () => undefined);
  void Promise.resolve(input).then((text) => child.stdin.end(text));
  return runOf(child, onStderr);
}

/** The same of a process that was started in another way. */
export async function runOf(child: ChildProcess, onStderr?: (written: string) => void): Promise<CliRun> {
  let [stdout, stderr] = ['', ''];
  child.stdout?.setEncoding('utf8').on('data', (chunk: string) => (stdout += chunk));
  child.stderr?.setEncoding('utf8').on('data', (chunk: string) => {
    stderr += chunk;
    onStderr?.(stderr);
  });
  const code = await new Promise<number | null>((resolve) => child.once('close', resolve));
  return { code, stdout, stderr };
}
