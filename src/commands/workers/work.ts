import cluster, { type Worker } from 'node:cluster';
import type { Config } from '../../config/config.ts';
import { takeOver } from '../../config/hand-over.ts';
import { exitCodes } from '../exit-codes.ts';
import { startGateway, type Gateway, type OperatorParts } from '../../gateway/gateway.ts';
import { createLog, describeCause, type Log } from '../../telemetry/log.ts';
import { settleSoon } from '../settle-heap.ts';
import { drainPatienceMs, explainStart, watchForFaults } from '../lifecycle.ts';
import type { Beginning, Order, Report } from './worker-messages.ts';

/** One of the processes that `workers` asks for. It serves; the process that started it leads it and speaks for it. */
export async function work(): Promise<number> {
  const { worker } = cluster;
  if (worker === undefined) {
    process.stderr.write('gatehouse: a worker is started by "gatehouse serve", when `workers` asks for it\n');
    return exitCodes.usage;
  }
  const stop = nextStop(worker);
  const { config: handed, logFormat, port, isFirst, storeIdentity } = await nextBeginning(worker);
  const config = takeOver(handed);
  const log = await createLog(config.log.level, logFormat);
  watchForFaults(log);
  let gateway: Gateway;
  let parts: OperatorParts | undefined;
  try {
    gateway = await startGateway(config, log.logger, {
      listen: { host: config.listen.host, port },
      sharesPort: true,
      isFirst,
      storeIdentity,
      openAdmin: async (given, address) => {
        parts = given;
        return {
          address,
          reload: () => undefined,
          drain: async () => undefined,
          close: async () => undefined,
        };
      },
    });
  } catch (error) {
    const code = explainStart(error, config);
    await log.flush(); // it may tell of a store that was made all the same
    return code;
  }
  if (parts !== undefined)
    answerQuestions(worker, { parts, log, reloaded: followReloads(worker, gateway, log) });
  const { listen, storeIdentity: opened } = gateway;
  await report(worker, { kind: 'ready', listen, storeIdentity: opened });
  settleSoon();
  await Promise.race([stop, nextDesertion(worker, config)]);
  // With nobody left to say 503 a delay is of no use, and whoever leads next needs the port.
  await gateway.drain(worker.isConnected() ? config.drain.delayMs : 0);
  await log.flush();
  const metrics = await parts?.metrics.registry.getMetricsAsJSON();
  if (metrics !== undefined) await report(worker, { kind: 'farewell', metrics });
  return exitCodes.ok;
}

async function nextBeginning(worker: Worker): Promise<Beginning> {
  return await new Promise((resolve) => {
    worker.on('message', (order: Order) => {
      if (order.kind === 'begin') resolve(order.beginning);
    });
    void report(worker, { kind: 'awake' });
  });
}

/**
 * SIGTERM to one worker drains it, and another takes its place. SIGINT and SIGHUP are left to the leading process: a terminal
 * sends them to all at once.
 */
async function nextStop(worker: Worker): Promise<void> {
  process.on('SIGINT', () => undefined).on('SIGHUP', () => undefined);
  await new Promise<void>((resolve) => {
    process.on('SIGTERM', () => resolve());
    worker.on('message', (order: Order) => {
      if (order.kind === 'drain') resolve();
    });
  });
}

/**
 * Resolves when the leading process is gone. Left alone, Node ends a worker at once then, with all that it has in flight. It may
 * finish that, but nobody watches any more whether it comes to an end.
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

/** Whoever leads has checked the configuration and says what came of it. Resolves, each time, when the last is in force. */
function followReloads(worker: Worker, gateway: Gateway, { logger }: Log): () => Promise<void> {
  let last = Promise.resolve();
  worker.on('message', (order: Order) => {
    if (order.kind !== 'reload') return;
    last = gateway.reload(takeOver(order.config)).catch((error: unknown) => {
      logger.error({ cause: describeCause(error) }, 'a worker goes on with the configuration from before');
    });
  });
  return () => last;
}

interface Answering {
  readonly parts: OperatorParts;
  readonly log: Log;
  readonly reloaded: () => Promise<void>;
}

function answerQuestions(worker: Worker, { parts, log, reloaded }: Answering): void {
  const { metrics, readiness } = parts;
  const answers = {
    metrics: () => metrics.registry.getMetricsAsJSON(),
    readiness: () => readiness.check(),
    reloaded: () => reloaded().then(() => true as const),
    logged: () => log.flush().then(() => true as const),
  };
  worker.on('message', (order: Order) => {
    if (order.kind !== 'ask') return;
    const { id, about } = order;
    void answers[about]().then((answer) => report(worker, { kind: 'answer', id, answer }));
  });
}

/** Resolves when the message has left, or nobody is there to take it. */
async function report(worker: Worker, message: Report): Promise<void> {
  if (!worker.isConnected()) return;
  await new Promise<void>((resolve) => worker.send(message, () => resolve()));
}
