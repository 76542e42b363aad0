import type { ChildProcess } from 'node:child_process';
import type { Gateway } from './start-gateway.ts';

/** Whether a process that was started is over, by itself or by a signal. */
export function hasEnded(child: ChildProcess): boolean {
  return child.exitCode !== null || child.signalCode !== null;
}

/** Whether there is such a process. One that has ended counts until somebody has asked how. */
export function lives(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}

/** The workers that have become ready so far, the first first. Only a log of level debug tells. */
export function workersOf(gateway: Pick<Gateway, 'logs'>): number[] {
  return gateway.logs().flatMap(({ msg, pid }) => (msg === 'a worker is ready' ? [Number(pid)] : []));
}
