import cluster, { type Worker } from 'node:cluster';
import { stoppingReport, type ReadinessReport } from '../../admin/readiness.ts';
import type { Config } from '../../config/config.ts';
import { takeOver } from '../../config/hand-over.ts';
import { startGateway, type Gateway } from '../../gateway/gateway.ts';
import { createLog, type Log } from '../../telemetry/log.ts';
import { readAll, readCounts } from '../../telemetry/merged-metrics.ts';
import { exitCodes } from '../exit-codes.ts';
import { explainStart } from '../explain-start.ts';
import { settleHeap } from '../heap/settle-heap.ts';
import { watchForFaults } from '../watch-for-faults.ts';
import { drainPatienceMs } from './drain-patience.ts';
import type { Begin, Order, Question, Report } from './worker-messages.ts';

/** One of the processes that `workers` asks for. It serves; the process that started it leads it and speaks for it. */
export async function work(): Promise<number> {
  const { worker } = cluster;
  if (worker === undefined) {
    process.stderr.write('gatehouse: a worker is started by "gatehouse serve", when `workers` asks for it\n');
    return exitCodes.usage;
  }
  const [asked, stop] = [nextSignal(), nextDrain(worker)];
  const takeOrders = holdOrders(worker);
  const { beginning, speaksForAll } = await nextBeginning(worker);
  const { config: handed, logForm, port, storeIdentity } = beginning;
  const config = takeOver(handed);
  const log = await createLog(config.log.level, logForm);
  watchForFaults(log);
  let gateway: Gateway;
  try {
    gateway = await startGateway(config, log.logger, {
      listen: { host: config.listen.host, port },
      isWorker: true,
      speaksForAll,
      storeIdentity,
    });
  } catch (error) {
    const code = explainStart(error, config);
    await log.flush(); // it may say that a store was made all the same
    return code;
  }
  gateway.metrics.showLostLines(log.lostLines);
  takeOrders(seeToOrders(worker, gateway, log));
  const { listen, storeIdentity: opened } = gateway;
  await report(worker, { kind: 'ready', listen, storeIdentity: opened });
  void asked.then(() => report(worker, { kind: 'leaving' }));
  settleHeap(gateway.traffic);
  const deserted = nextDesertion(worker, config);
  await Promise.race([stop, deserted]);
  // With nobody left to say 503 a delay is of no use, and the next leading process needs the port.
  await gateway.drain(deserted);
  await log.flush();
  await report(worker, { kind: 'farewell', counts: await readCounts(gateway.metrics.registry) });
  return exitCodes.ok;
}

async function nextBeginning(worker: Worker): Promise<Begin> {
  return await new Promise((resolve) => {
    worker.on('message', (order: Order) => {
      if (order.kind === 'begin') resolve(order);
    });
    void report(worker, { kind: 'awake' });
  });
}

/**
 * Resolves with SIGTERM, for which the leading process has another worker take the place. SIGINT and SIGHUP are left to that
 * process: a terminal sends them to all at once.
 */
async function nextSignal(): Promise<void> {
  process.on('SIGINT', () => undefined).on('SIGHUP', () => undefined);
  await new Promise<void>((resolve) => process.on('SIGTERM', () => resolve()));
}

async function nextDrain(worker: Worker): Promise<void> {
  await new Promise<void>((resolve) => {
    worker.on('message', (order: Order) => {
      if (order.kind === 'drain') resolve();
    });
  });
}

/**
 * Resolves when the leading process is gone. Node would then end a worker at once, with all that it has in flight. Ours may finish
 * that, within a limit: nobody watches any more whether it comes to an end.
 */
async function nextDesertion(worker: Worker, config: Config): Promise<void> {
  await new Promise<void>((resolve) => {
    worker.once('disconnect', () => {
      worker.exitedAfterDisconnect = true;
      setTimeout(() => process.exit(exitCodes.internal), drainPatienceMs(config)).unref();
      resolve();
    });
  });
}

/** Holds back what is asked of a worker that is still starting, until it can see to it. */
function holdOrders(worker: Worker): (see: (order: Order) => void) => void {
  const early: Order[] = [];
  let hear = (order: Order): void => void early.push(order);
  worker.on('message', (order: Order) => hear(order));
  return (see) => {
    hear = see;
    for (const order of early) see(order);
  };
}

function seeToOrders(worker: Worker, gateway: Gateway, log: Log): (order: Order) => void {
  const { metrics, readiness } = gateway;
  const answers = {
    metrics: () => readAll(metrics.registry),
    counts: () => readCounts(metrics.registry),
    readiness: () => readiness.check().then(sayIfStopping),
    reloaded: async () => true as const,
    logged: () => log.flush().then(() => true as const),
  };
  async function answer({ id, about }: Question): Promise<void> {
    await report(worker, { kind: 'answer', id, answer: await answers[about]() });
  }
  return function see(order: Order): void {
    if (order.kind === 'ask') void answer(order);
    if (order.kind !== 'reload') return;
    // The leading process has checked it. If it fails here, this process ends, and the next begins with it.
    gateway.reload(takeOver(order.config));
    void answer({ id: order.id, about: 'reloaded' });
  };
}

/** The leading process leaves out a worker that stops: the gateway may go on. */
function sayIfStopping(state: ReadinessReport): ReadinessReport | 'stopping' {
  return state === stoppingReport ? 'stopping' : state;
}

/** Resolves when the message has left, or there is nobody to take it. */
async function report(worker: Worker, message: Report): Promise<void> {
  await new Promise<void>((resolve) => worker.send(message, () => resolve()));
}
