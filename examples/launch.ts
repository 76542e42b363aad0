import { spawn } from 'node:child_process';
import { createInterface } from 'node:readline';
import type { Readable } from 'node:stream';

interface LaunchOptions<T> {
  readonly args: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
  /** Finds in a line of output what tells that the program is ready. */
  readonly readReady: (line: string) => T | undefined;
}

/** A program that runs beside this one. */
export interface Launched<T> {
  /** Fails with the program's own last words when it ends before it is ready. */
  readonly ready: Promise<T>;
  /** How the program ended, in one line. */
  readonly ended: Promise<string>;
  /** Shows its output from here on. */
  showOutput(): void;
  /** Asks it to stop and waits; after ten seconds it no longer asks. */
  stop(): Promise<void>;
}

/** Runs a TypeScript program on this Node. Nothing that it started outlives this process in good order. */
export function launch<T>(name: string, { args, env, readReady }: LaunchOptions<T>): Launched<T> {
  // In a process group of its own, so that Ctrl-C reaches it once, through `stop`, and not from the terminal too.
  const child = spawn(process.execPath, args, {
    env: { ...process.env, ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
    detached: true,
  });
  const killWithUs = (): void => void child.kill('SIGKILL');
  process.on('exit', killWithUs);
  let shown = false;
  let lastLine = '';
  let complaint = '';
  const { promise: ready, resolve, reject } = Promise.withResolvers<T>();
  const onLine = (line: string): void => {
    if (shown) console.log(line);
    if (line.trim()) lastLine = line.trim();
    const found = readReady(line);
    if (found !== undefined) resolve(found);
  };
  readLines(child.stdout, onLine);
  readLines(child.stderr, (line) => {
    complaint = `${complaint}${line}\n`.slice(-4_096);
    onLine(line);
  });
  const ended = new Promise<string>((settle) => {
    child.once('close', (code, signal) => {
      process.off('exit', killWithUs);
      const lastWords = complaint.trim() || lastLine || 'without a word';
      settle(`${name} ended (${signal ?? `exit code ${code}`}): ${lastWords}`);
    });
  });
  void ended.then((death) => reject(new Error(death)));
  // Whoever waits sees the failure; a demo that is stopped while this starts does not wait any more.
  ready.catch(() => {});
  return {
    ready,
    ended,
    showOutput() {
      shown = true;
    },
    async stop() {
      child.kill('SIGTERM');
      const patience = setTimeout(killWithUs, 10_000);
      await ended;
      clearTimeout(patience);
    },
  };
}

function readLines(stream: Readable, onLine: (line: string) => void): void {
  createInterface({ input: stream }).on('line', onLine);
}
