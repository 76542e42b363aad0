import cluster, { type Worker } from 'node:cluster';
import type { Log } from '../../telemetry/log.ts';
import { wholeLines } from './whole-lines.ts';

/**
 * Starts the process of a worker, `gatehouse worker`. Processes that write to one pipe cut into each other's lines when it is full.
 * So this one writes for all, whole lines at a time. A line that a killed worker left unfinished is dropped.
 */
export function forkWorker(log: Log): Worker {
  cluster.setupPrimary({
    args: ['worker'],
    stdio: ['ignore', 'pipe', 'inherit', 'ipc'],
    serialization: 'advanced', // a schema may have numbers that JSON cannot express
  });
  const worker = cluster.fork();
  worker.process.stdout?.setEncoding('utf8').on(
    'data',
    wholeLines((lines) => log.relay(lines)),
  );
  return worker;
}
