import type { Config } from '../config/config.ts';
import { handOver, type HandedConfig } from '../config/hand-over.ts';
import { readConfig } from '../config/load-config.ts';
import { resolveConfig } from '../config/resolve-config.ts';
import { exitCodes } from './exit-codes.ts';
import type { Gateway } from '../gateway/gateway.ts';
import { createLog, createLogger, type Log } from '../telemetry/log.ts';
import { settleSoon } from './settle-heap.ts';
import { explainConfig } from './explain-config.ts';
import { announce, explainStart, watchForFaults } from './lifecycle.ts';
import type { Stop } from './stop-signals.ts';

/**
 * `gatehouse serve`: runs the gateway until it is to stop, and resolves with the exit code. One that is to stop while it starts
 * starts first: its workers may already be at work.
 */
export async function serve(file: string, stop: Stop): Promise<number> {
  let loaded: Loaded;
  try {
    loaded = load(file);
  } catch (error) {
    return explainConfig(error, { undone: 'started', stderr: process.stderr });
  }
  const { config } = loaded;
  const log = await createLog(config.log.level, config.log.format);
  stop.lastly = log.flush;
  watchForFaults(log);
  // Workers run the same code, so once is enough.
  const { leaksSecrets } = await import('./self-test.ts');
  if (await leaksSecrets(createLogger)) {
    process.stderr.write(
      'gatehouse: a key would show in logs or answers, so nothing was started; please report it\n',
    );
    return exitCodes.internal;
  }
  let gateway: Gateway;
  try {
    gateway = await start(loaded, log, stop);
  } catch (error) {
    const code = explainStart(error, config);
    await log.flush(); // it may tell of a store that was made all the same
    return code;
  }
  announce(gateway, config, log);
  settleSoon();
  await run(gateway, stop, { config, log });
  return exitCodes.ok;
}

interface Loaded {
  readonly config: Config;
  /** For the workers; undefined = there are none. */
  readonly handed: HandedConfig | undefined;
}

/** Apart from what runs as long as the process does, which would keep the secrets as they were read. */
function load(file: string): Loaded {
  const checked = readConfig(file, process.env);
  const config = resolveConfig(checked);
  return { config, handed: config.workers === 1 ? undefined : handOver(checked) };
}

async function start({ config, handed }: Loaded, log: Log, stop: Stop): Promise<Gateway> {
  if (handed === undefined) {
    const { startGateway } = await import('../gateway/gateway.ts');
    return await startGateway(config, log.logger);
  }
  const { startWorkers } = await import('./workers/start-workers.ts');
  return await startWorkers(config, handed, { log, stop });
}

async function run(
  gateway: Gateway,
  stop: Stop,
  { config, log }: { readonly config: Config; readonly log: Log },
): Promise<void> {
  const signal = await stop.asked;
  log.logger.info({ signal }, `stopping: what is in flight has ${config.drain.timeoutMs / 1000} s to finish`);
  await gateway.drain();
  log.logger.info('stopped');
  await log.flush();
}
