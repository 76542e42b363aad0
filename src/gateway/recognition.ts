import type { AuthConfig, StaticKey } from '../config/config.ts';
import { createFailedKeys } from '../keys/failed-keys.ts';
import { createKeyFormat } from '../keys/key-format.ts';
import { createKeyring } from '../keys/keyring.ts';
import { createUseNotes } from '../keys/use-notes.ts';
import type { Logger } from '../telemetry/log.ts';
import type { Recognition } from '../stages/authenticate.ts';
import type { KeyStore } from '../stores/key-store.ts';

interface RecognitionParts {
  readonly store: KeyStore;
  readonly countFailure: (slowed: boolean) => void;
  readonly logger: Logger;
}

const mono = (): number => performance.now();

/** Puts together what callers are recognised with. */
export function createRecognition(
  auth: AuthConfig,
  staticKeys: readonly StaticKey[],
  { store, countFailure, logger }: RecognitionParts,
): Recognition & { readonly close: () => Promise<void> } {
  const keyring = createKeyring({
    staticKeys,
    store,
    format: createKeyFormat(auth.prefix),
    cacheForMs: auth.cacheForMs,
    graceOnOutageMs: auth.graceOnOutageMs,
    mono,
  });
  const uses = createUseNotes(store);
  const failed = createFailedKeys({
    failuresMax: auth.guessing?.failuresMax,
    perMs: auth.guessing?.perMs ?? 0,
    mono,
    report: (report) => logger.warn(report, 'too many keys that are not valid: somebody may be guessing'),
  });
  return {
    keyring,
    noteUse: (found, now) => uses.note(found, now),
    noteFailure(client) {
      const tooMany = failed.count(client);
      countFailure(tooMany !== undefined);
      return tooMany;
    },
    now: Date.now,
    async close() {
      keyring.close();
      await uses.close();
    },
  };
}
