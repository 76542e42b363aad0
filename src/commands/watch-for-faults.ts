import { setImmediate as turnOver } from 'node:timers/promises';
import { describeCause, type Log } from '../telemetry/log.ts';
import { endAtFault } from './end-at-fault.ts';
import { exitCodes } from './exit-codes.ts';

/** A fault nobody caught leaves the process in an unknown state: it is logged, and the process ends, to be started again. */
export function watchForFaults({ logger, flush }: Log): void {
  let ending = false;
  const end = (cause: unknown): void => {
    logger.fatal({ cause: describeCause(cause) }, 'a fault of the gateway itself, please report it');
    if (ending) return;
    ending = true;
    // Twice, for the faults that come meanwhile: rejections beside an error that was thrown are told of a turn later.
    void flush()
      .then(() => turnOver())
      .then(flush)
      .then(() => process.exit(exitCodes.internal));
  };
  // It would end the process before the log is out.
  process.off('uncaughtException', endAtFault);
  process.off('unhandledRejection', endAtFault);
  // `on`, not `once`: faults often come together, and one without a listener would end the process before the log is out.
  process.on('uncaughtException', end);
  process.on('unhandledRejection', end);
}
