import type { Config } from '../config/config.ts';
import { createLog, createLogger, formOf, type Log } from '../telemetry/log.ts';
import { announce } from './announce.ts';
import { exitCodes } from './exit-codes.ts';
import { explainStart } from './explain-start.ts';
import { explainConfig } from './explain.ts';
import { settleHeap } from './heap/settle-heap.ts';
import { load, type Loaded } from './load.ts';
import { Reloader } from './reload.ts';
import type { Served } from './served.ts';
import type { Signals } from './signals.ts';
import { watchForFaults } from './watch-for-faults.ts';

/** Runs the gateway until it is told to stop. Told while it starts, it finishes that first: its workers may already be at work. */
export async function serve(file: string, signals: Signals): Promise<number> {
  let loaded: Loaded;
  try {
    loaded = load(file);
  } catch (error) {
    return explainConfig(error, { undone: 'started', stderr: process.stderr });
  }
  const { config } = loaded;
  const log = await createLog(config.log.level, formOf(config.log.format));
  signals.lastly(async (signal) => {
    log.logger.warn({ signal }, 'stopping at once, as it was asked again: what is in flight is lost');
    await log.flush();
  });
  watchForFaults(log);
  let gateway: Served;
  try {
    // Workers run the same code, so once is enough.
    const { leaksSecrets } = await import('./self-test.ts');
    if (await leaksSecrets(createLogger)) {
      process.stderr.write(
        'gatehouse: a key would show in logs or answers, so nothing was started; please report it\n',
      );
      return exitCodes.internal;
    }
    gateway = await start(loaded, log, signals);
  } catch (error) {
    const code = explainStart(error, config);
    await log.flush(); // it may mention a store that was made all the same
    return code;
  }
  gateway.metrics.showLostLines(log.lostLines);
  announce(gateway, config, log);
  gateway.tellKeysInBoth();
  settleHeap(gateway.traffic);
  const reloader = new Reloader({ load: () => load(file), present: config, gateway, logger: log.logger });
  signals.whenReload(() => reloader.ask());
  await drainWhenAsked(gateway, signals, { config, log });
  return exitCodes.ok;
}

async function start({ config, handed }: Loaded, log: Log, signals: Signals): Promise<Served> {
  if (handed === undefined) {
    const { startGateway } = await import('../gateway/gateway.ts');
    const gateway = await startGateway(config, log.logger);
    return {
      ...gateway,
      reload(next) {
        gateway.reload(next.config);
        return { everywhere: Promise.resolve() };
      },
    };
  }
  const { startWorkers } = await import('./workers/start-workers.ts');
  return await startWorkers(config, handed, { log, signals });
}

async function drainWhenAsked(
  gateway: Served,
  { stopAsked }: Signals,
  { config, log }: { readonly config: Config; readonly log: Log },
): Promise<void> {
  const signal = await stopAsked;
  log.logger.info({ signal }, `stopping: what is in flight has ${config.drain.timeoutMs / 1000} s to finish`);
  await gateway.drain();
  log.logger.info('stopped');
  await log.flush();
}
