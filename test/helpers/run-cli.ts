import { spawn } from 'node:child_process';
import { fileURLToPath } from 'node:url';

/** What a command wrote, and how it ended. */
export interface CliRun {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

const main = fileURLToPath(new URL('../../src/main.ts', import.meta.url));

/** Runs `gatehouse` with these words; standard input is the text, and no terminal. */
export async function runCli(words: readonly string[], input = ''): Promise<CliRun> {
  const child = spawn(process.execPath, [main, ...words], { stdio: ['pipe', 'pipe', 'pipe'] });
  let [stdout, stderr] = ['', ''];
  child.stdout.setEncoding('utf8').on('data', (chunk: string) => (stdout += chunk));
  child.stderr.setEncoding('utf8').on('data', (chunk: string) => (stderr += chunk));
  child.stdin.on('error', () => undefined).end(input);
  const code = await new Promise<number | null>((resolve) => child.once('close', resolve));
  return { code, stdout, stderr };
}
