import type { StoreOptions } from '../stores/store.ts';
import type { Logger } from './log.ts';

/** Logs what operators must know of their store: that it was made anew, fills its disk, or has lost something. */
export function createStoreReporter(logger: Logger) {
  return {
    onCreate: (file) => logger.info({ file }, 'a new store was made'),
    onLogStuck: (reason) =>
      logger.warn({ reason }, 'the -wal file of the store grows, because it cannot be copied into the store'),
    onLogRemoved: () =>
      logger.error(
        'the -wal or -shm file of the store was removed: run no command, and stop every gateway with SIGTERM',
      ),
    onSetBack({ since, until }) {
      if (since === 0) {
        logger.error('the store has lost its list of changes, and with it perhaps keys and usage');
        return;
      }
      logger.error(
        { since: new Date(since).toISOString(), until: new Date(until).toISOString() },
        'the store has come back with older data: keys that were revoked or rotated since then work as before, do it again',
      );
    },
    onEvicting: (policy) =>
      logger.warn({ policy }, 'the store may evict keys and usage: set its maxmemory-policy to noeviction'),
  } satisfies StoreOptions;
}
