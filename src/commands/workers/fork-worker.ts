import cluster, { type Worker } from 'node:cluster';
import type { Log } from '../../telemetry/log.ts';
import { wholeLines } from './whole-lines.ts';

/** What may wait here of what workers say on standard error, mostly what their runtime says at a fatal end. */
const errorsMax = 64 * 1024;

/**
 * Starts the process of a worker, `gatehouse worker`. Processes that write to one pipe cut into each other's lines when it is full.
 * So this one writes for all, whole lines at a time. A line that a killed worker left unfinished is dropped. Nor do they share our
 * standard error, which may be the same pipe as our output: each start and end of a process makes what it shares wait for its
 * reader, and with a log that nobody reads this process could not even end.
 */
export function forkWorker(log: Log): Worker {
  cluster.setupPrimary({
    args: ['worker'],
    stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
    serialization: 'advanced', // a schema may have numbers that JSON cannot express
  });
  const worker = cluster.fork();
  worker.process.stdout?.setEncoding('utf8').on(
    'data',
    wholeLines((lines) => log.relay(lines)),
  );
  worker.process.stderr?.on('data', (piece: Buffer) => {
    if (process.stderr.writableLength < errorsMax) process.stderr.write(piece);
  });
  return worker;
}
