import type { AuthConfig, StaticKey } from '../config/config.ts';
import { createFailedKeys } from '../keys/failed-keys.ts';
import { createKeyFormat } from '../keys/key-format.ts';
import { createKeyring } from '../keys/keyring.ts';
import { createUseNotes } from '../keys/use-notes.ts';
import type { Logger } from '../telemetry/log.ts';
import type { KeyCheck } from '../stages/authenticate.ts';
import type { KeyStore } from '../stores/key-store.ts';

interface KeyCheckParts {
  readonly store: KeyStore;
  readonly countFailure: (slowed: boolean) => void;
  readonly logger: Logger;
}

const mono = (): number => performance.now();

/** One that hears of changes and writes uses until it is closed. */
export interface OpenKeyCheck extends KeyCheck {
  readonly close: () => Promise<void>;
}

/** Puts together what keys are checked with. */
export function createKeyCheck(
  auth: AuthConfig,
  staticKeys: readonly StaticKey[],
  { store, countFailure, logger }: KeyCheckParts,
): OpenKeyCheck {
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
