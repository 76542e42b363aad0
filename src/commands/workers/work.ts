import cluster, { type Worker } from 'node:cluster';
import { on } from 'node:events';
import type { Config } from '../../config/config.ts';
import { takeOver } from '../../config/hand-over.ts';
import { startGateway, type Gateway } from '../../gateway/gateway.ts';
import { createLog, type Log } from '../../telemetry/log.ts';
import { readAll, readCounts } from '../../telemetry/merged-metrics.ts';
import { drainPatienceMs } from '../../waiting/patience.ts';
import { exitCodes } from '../exit-codes.ts';
import { explainStart } from '../explain-start.ts';
import { settleHeap } from '../heap/settle-heap.ts';
import { watchForFaults } from '../watch-for-faults.ts';
import type { Beginning, Order, Question, Report } from './worker-messages.ts';

/** One of the processes that `workers` asks for. It serves; the process that started it leads it and speaks for it. */
export async function work(): Promise<number> {
  const { worker } = cluster;
  if (worker === undefined) {
    process.stderr.write('gatehouse: a worker is started by "gatehouse serve", when `workers` asks for it\n');
    return exitCodes.usage;
  }
  const asked = nextSignal();
  const orders = ordersTo(worker);
  const { config: handed, logForm, port, storeIdentity } = await nextBeginning(worker, orders);
  const config = takeOver(handed);
  const log = await createLog(config.log.level, logForm);
  watchForFaults(log);
  let gateway: Gateway;
  try {
    gateway = await startGateway(config, log.logger, {
      listen: { host: config.listen.host, port },
      isWorker: true,
      storeIdentity,
    });
  } catch (error) {
    const code = explainStart(error, config);
    await log.flush(); // it may say that a store was made all the same
    return code;
  }
  gateway.metrics.showLostLines(log.lostLines);
  const { promise: drainAsked, resolve: askToDrain } = Promise.withResolvers<void>();
  void seeToOrders(orders, { worker, gateway, log, askToDrain });
  const { listen, storeIdentity: opened } = gateway;
  await report(worker, { kind: 'ready', listen, storeIdentity: opened });
  void asked.then(() => report(worker, { kind: 'leaving' }));
  settleHeap(gateway.traffic);
  const deserted = nextDesertion(worker, config);
  await Promise.race([drainAsked, deserted]);
  // With nobody left to say 503 a delay is of no use, and the next leading process needs the port.
  await gateway.drain(deserted);
  await log.flush();
  await report(worker, { kind: 'farewell', counts: await readCounts(gateway.metrics.registry) });
  return exitCodes.ok;
}

/** What the leading process orders, one after another. Orders that come before the worker can see to them wait here. */
async function* ordersTo(worker: Worker): AsyncGenerator<Order> {
  for await (const [order] of on(worker, 'message')) yield order as Order;
}

async function nextBeginning(worker: Worker, orders: AsyncGenerator<Order>): Promise<Beginning> {
  const first = orders.next();
  void report(worker, { kind: 'awake' });
  const { value: order } = (await first) as { value: Order };
  if (order.kind !== 'begin') throw new TypeError(`${order.kind} was ordered before a beginning`);
  return order.beginning;
}

/**
 * Resolves with SIGTERM, for which the leading process has another worker take the place. SIGINT and SIGHUP are left to that
 * process: a terminal sends them to all at once.
 */
async function nextSignal(): Promise<void> {
  process.on('SIGINT', () => undefined).on('SIGHUP', () => undefined);
  await new Promise<void>((resolve) => process.on('SIGTERM', () => resolve()));
}

/**
 * Resolves when the leading process is gone. Node would then end a worker at once; ours may finish what it has in flight, within a
 * limit, as nobody watches any more whether it comes to an end.
 */
async function nextDesertion(worker: Worker, config: Config): Promise<void> {
  await new Promise<void>((resolve) => {
    worker.once('disconnect', () => {
      worker.exitedAfterDisconnect = true;
      setTimeout(() => process.exit(exitCodes.internal), drainPatienceMs(config.drain)).unref();
      resolve();
    });
  });
}

interface Serving {
  readonly worker: Worker;
  readonly gateway: Gateway;
  readonly log: Log;
  readonly askToDrain: () => void;
}

async function seeToOrders(
  orders: AsyncGenerator<Order>,
  { worker, gateway, log, askToDrain }: Serving,
): Promise<void> {
  const { metrics, readiness } = gateway;
  const answers = {
    metrics: () => readAll(metrics.registry),
    counts: () => readCounts(metrics.registry),
    readiness: () => readiness.check(),
    logged: () => log.flush().then(() => true as const),
  };
  async function answer({ id, about }: Question): Promise<void> {
    await report(worker, { kind: 'answer', id, answer: await answers[about]() });
  }
  function reload({ id, config }: Extract<Order, { kind: 'reload' }>): void {
    // The leading process has checked it. If it fails here, this process ends, and the next begins with it.
    gateway.reload(takeOver(config));
    void report(worker, { kind: 'answer', id, answer: true });
  }
  for await (const order of orders) {
    if (order.kind === 'ask') void answer(order);
    if (order.kind === 'reload') reload(order);
    if (order.kind === 'tellKeysInBoth') gateway.tellKeysInBoth();
    if (order.kind === 'drain') askToDrain();
  }
}

/** Resolves when the message has left, or there is nobody to take it. */
async function report(worker: Worker, message: Report): Promise<void> {
  await new Promise<void>((resolve) => worker.send(message, () => resolve()));
}
