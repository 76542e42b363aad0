import { setImmediate as turnOver } from 'node:timers/promises';
import type { Config } from '../config/config.ts';
import { fixedChanges } from '../config/fixed-options.ts';
import { ConfigErrors, ConfigUnreadable } from '../config/problems.ts';
import { checkSpool } from '../gateway/check-spool.ts';
import { describeCause, type Logger } from '../telemetry/log.ts';
import { SpoolUnavailable } from '../uploads/spool.ts';
import { tellDoubts } from './announce.ts';
import type { Loaded } from './load.ts';
import type { Served } from './served.ts';

interface ReloaderOptions {
  /** Reads the file. Throws what `readConfig` throws. */
  readonly load: () => Loaded;
  /** What is in force now. */
  readonly present: Config;
  readonly gateway: Pick<Served, 'reload' | 'tellKeysInBoth' | 'metrics'>;
  readonly logger: Logger;
}

/**
 * Reads the configuration again when asked, one reload at a time. None waits for a worker that hangs on the one before. A
 * configuration that is not valid, or changes what is fixed for the life of the process, is refused as a whole: the log says why, and
 * the previous one stays in force.
 */
export class Reloader {
  readonly #options: Omit<ReloaderOptions, 'present'>;
  #present: Config;
  #asked = false;
  #isRunning = false;

  constructor({ present, ...options }: ReloaderOptions) {
    this.#options = options;
    this.#present = present;
  }

  /** The file may have changed since the reload under way read it, so another follows. */
  ask(): void {
    this.#asked = true;
    if (!this.#isRunning) void this.#run();
  }

  async #run(): Promise<void> {
    this.#isRunning = true;
    // Node hands over one signal after the other, each with all that follows from it before the next.
    await turnOver();
    while (this.#asked) {
      this.#asked = false;
      await this.#reload();
    }
    this.#isRunning = false;
  }

  async #reload(): Promise<void> {
    const { load, gateway } = this.#options;
    const begunAt = performance.now();
    try {
      const loaded = load();
      const options = fixedChanges(this.#present, loaded.config);
      if (options.length > 0) return this.#refuse({ options }, 'it changes what takes a restart');
      await checkSpool(loaded.config);
      const { everywhere } = await gateway.reload(loaded);
      gateway.tellKeysInBoth();
      this.#tellGonePlans(loaded.config);
      this.#present = loaded.config;
      gateway.metrics.countReload('done');
      void everywhere.then(() => this.#tellDone(loaded.config, begunAt));
    } catch (error) {
      if (error instanceof ConfigErrors) return this.#refuse({ problems: error.lines }, 'it is not valid');
      if (error instanceof ConfigUnreadable || error instanceof SpoolUnavailable)
        return this.#refuse({}, error.message);
      return this.#refuse({ cause: describeCause(error) }, 'a fault of the gateway itself, please report it');
    }
  }

  /** While a worker hung, another configuration may have come: then that one is told of. */
  #tellDone(config: Config, begunAt: number): void {
    if (config !== this.#present) return;
    const { logger } = this.#options;
    tellDoubts(config, logger);
    logger.info({ tookMs: Math.round(performance.now() - begunAt) }, 'the configuration was reloaded');
  }

  /** The store may hold a million keys: which of them have such a plan is not looked up. */
  #tellGonePlans(next: Config): void {
    const plans = [...this.#present.plans.keys()].filter((name) => !next.plans.has(name));
    if (plans.length === 0) return;
    this.#options.logger.warn(
      { plans },
      'plans are gone from the file: keys of the store that have one are answered 500 until they get another',
    );
  }

  #refuse(about: object, why: string): void {
    const { gateway, logger } = this.#options;
    logger.error(about, `the reload is refused, the configuration from before stays in force: ${why}`);
    gateway.metrics.countReload('refused');
  }
}
