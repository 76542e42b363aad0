import { spawn, type ChildProcess, type SpawnOptions } from 'node:child_process';
import { once } from 'node:events';
import { openSync, closeSync, readFileSync, readdirSync, truncateSync } from 'node:fs';
import { connect } from 'node:net';
import { constants } from 'node:os';
import { basename } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { hasEnded } from '../test/helpers/processes.ts';
import { CannotRun } from './cannot-run.ts';
import { root } from './machine.ts';

/** A process that is measured, or helps to measure; it and its children share the cores it was pinned to. */
export interface Started {
  readonly pid: number;
  readonly port: number;
  /** Its standard output and error. */
  readonly log: string;
  /** Why it has ended, as far as that can be told; undefined while it runs. */
  end(): string | undefined;
  /** Asks it to end, and kills it after so much patience, a few seconds by default. */
  stop(patienceMs?: number): Promise<void>;
}

interface StartOptions {
  readonly command: string;
  readonly args: readonly string[];
  readonly cores: string;
  readonly port: number;
  readonly log: string;
  readonly env?: Readonly<Record<string, string>>;
  readonly cwd?: string;
}

const startPatienceMs = 20_000;
const stopPatienceMs = 3000;
const living = new Set<ChildProcess>();

// Whatever happens to the bench, nothing that it started outlives it, and no children of that either.
process.once('exit', () => {
  for (const child of living) signalGroup(child, 'SIGKILL');
});
for (const signal of ['SIGHUP', 'SIGINT', 'SIGQUIT', 'SIGTERM'] as const)
  process.once(signal, () => process.exit(128 + constants.signals[signal]));

// Whoever reads no further, such as `head`, ends the bench, as a pipe would end another program.
process.stdout.once('error', () => process.exit(128 + 13));

/**
 * Spawns a process in a group of its own, which a Ctrl-C in the terminal does not reach: this process ends it. Where this process
 * is killed and cannot, the kernel does.
 */
export function spawnHere(
  command: string,
  args: readonly string[],
  options: Pick<SpawnOptions, 'cwd' | 'env' | 'stdio'>,
): ChildProcess {
  const words = ['--pdeathsig', 'TERM', command, ...args];
  const child = spawn('setpriv', words, { ...options, detached: true });
  living.add(child);
  child.once('exit', () => {
    living.delete(child);
    signalGroup(child, 'SIGKILL'); // one that was killed leaves children behind, which hold its port and the core
  });
  return child;
}

/** Runs a program to its end. Unlike spawnSync it lets signals be heard meanwhile. The status is null if a signal ended it. */
export async function runToEnd(
  command: string,
  args: readonly string[],
  options: Pick<SpawnOptions, 'cwd' | 'env'>,
): Promise<{ status: number | null; stderr: string }> {
  const child = spawnHere(command, args, { ...options, stdio: ['ignore', 'ignore', 'pipe'] });
  let stderr = '';
  child.stderr?.on('data', (chunk: Buffer) => (stderr += chunk.toString()));
  const [status] = (await once(child, 'close')) as [number | null];
  return { status, stderr };
}

function signalGroup({ pid }: ChildProcess, signal: NodeJS.Signals): void {
  if (pid === undefined) return; // it never began
  try {
    process.kill(-pid, signal);
  } catch {
    // It has just ended.
  }
}

/** Starts a server on the cores and resolves when its port takes connections. */
export async function start(options: StartOptions): Promise<Started> {
  const { command, args, cores, port, log, env = {}, cwd } = options;
  const out = openSync(log, 'a');
  const child = spawnHere('taskset', ['-c', cores, command, ...args], {
    cwd,
    env: { ...process.env, ...env },
    stdio: ['ignore', out, out],
  });
  closeSync(out);
  const deadline = performance.now() + startPatienceMs;
  while (!(await takesConnections(port))) {
    if (hasEnded(child) || performance.now() > deadline) {
      const why = whyEnded(child, log);
      await stopChild(child);
      throw new CannotRun(`${basename(command)} did not start: ${why}`);
    }
    await pause(20);
  }
  return {
    pid: child.pid ?? 0,
    port,
    log,
    end: () => (hasEnded(child) ? whyEnded(child, log) : undefined),
    stop: (patienceMs) => stopChild(child, patienceMs),
  };
}

async function stopChild(child: ChildProcess, patienceMs = stopPatienceMs): Promise<void> {
  if (!living.has(child)) return;
  const ended = once(child, 'exit');
  child.kill('SIGTERM');
  const timer = setTimeout(() => signalGroup(child, 'SIGKILL'), patienceMs);
  await ended;
  clearTimeout(timer);
}

async function takesConnections(port: number): Promise<boolean> {
  const socket = connect({ port, host: '127.0.0.1' });
  try {
    await once(socket, 'connect');
    return true;
  } catch {
    return false;
  } finally {
    socket.destroy();
  }
}

/**
 * Why a process ended: the line of the error in its log, or of the first mistake in a configuration; the signal, as where memory was
 * short; or else the last line. Where the checkout is on this machine stays out of the results.
 */
export function whyEnded({ signalCode }: ChildProcess, log: string): string {
  const lines = readFileSync(log, 'utf8').trim().split('\n').slice(-50);
  const error = lines.find((line) => /^(?!\s*throw ).*error|\.yaml:\d+:\d+: /i.test(line)); // Node shows first what threw it
  const last = signalCode === null ? lines.at(-1) : `killed by ${signalCode}`;
  return (error ?? last ?? '').replaceAll(root, '').slice(0, 300) || 'it said nothing';
}

/** Keeps access logs from filling the disk: they are written as in production, and emptied after each load. */
export function emptyLog({ log }: Started): void {
  truncateSync(log);
}

const tickMs = 10; // USER_HZ is 100 on every Linux that Node runs on

/** CPU time that the process and its children have used, in milliseconds; those that have ended count too. */
export function cpuMs(pid: number): number {
  return familyOf(pid).reduce((sum, one) => {
    const [user = 0, system = 0, userOfEnded = 0, systemOfEnded = 0] = statOf(one).slice(11, 15).map(Number);
    return sum + (user + system + userOfEnded + systemOfEnded) * tickMs;
  }, 0);
}

/** The most memory that the process and its children ever had resident, each at its own peak, in MB. */
export function peakMb(pid: number): number {
  const kb = familyOf(pid).reduce((sum, one) => {
    const found = /^VmHWM:\s+(\d+)/m.exec(read(`/proc/${one}/status`));
    return sum + Number(found?.[1] ?? 0);
  }, 0);
  return kb / 1024;
}

function familyOf(pid: number): number[] {
  const parents = new Map<number, number>();
  for (const name of readdirSync('/proc')) {
    if (/^\d+$/.test(name)) parents.set(Number(name), Number(statOf(Number(name))[1] ?? 0));
  }
  const family = [pid];
  for (const one of family) {
    for (const [child, parent] of parents) if (parent === one) family.push(child);
  }
  return family;
}

/** The fields of `/proc/<pid>/stat` after the name, which may hold anything. */
function statOf(pid: number): string[] {
  const text = read(`/proc/${pid}/stat`);
  return text.slice(text.lastIndexOf(')') + 2).split(' ');
}

function read(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return ''; // it ended a moment ago
  }
}
