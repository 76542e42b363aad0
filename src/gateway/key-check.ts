import { isDeepStrictEqual } from 'node:util';
import type { AuthConfig, Config } from '../config/config.ts';
import { createFailedKeys, type FailedKeys } from '../keys/failed-keys.ts';
import { createKeyFormat } from '../keys/key-format.ts';
import { createKeyring, type KeyringRules } from '../keys/keyring.ts';
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
  /** Goes by another configuration from now on. */
  readonly reload: (rules: KeyCheckRules) => void;
  readonly close: () => Promise<void>;
}

type KeyCheckRules = Pick<Config, 'auth' | 'keys'>;

/** Puts together what keys are checked with. */
export function createKeyCheck(
  rules: KeyCheckRules,
  { store, countFailure, logger }: KeyCheckParts,
): OpenKeyCheck {
  const keyring = createKeyring({ rules: keyringRules(rules), store, mono });
  const uses = createUseNotes(store);
  let { guessing } = rules.auth;
  let failed = countFailed(guessing, logger);
  return {
    keyring,
    noteUse: (found, now) => uses.note(found, now),
    noteFailure(client) {
      const tooMany = failed.count(client);
      countFailure(tooMany !== undefined);
      return tooMany;
    },
    now: Date.now,
    reload(others) {
      keyring.reload(keyringRules(others));
      // Whoever has tried too often has not been forgiven by a reload.
      if (isDeepStrictEqual(guessing, others.auth.guessing)) return;
      ({ guessing } = others.auth);
      failed = countFailed(guessing, logger);
    },
    async close() {
      keyring.close();
      await uses.close();
    },
  };
}

function keyringRules({ auth, keys }: KeyCheckRules): KeyringRules {
  const { prefix, cacheForMs, graceOnOutageMs } = auth;
  return { staticKeys: keys, format: createKeyFormat(prefix), cacheForMs, graceOnOutageMs };
}

function countFailed(guessing: AuthConfig['guessing'], logger: Logger): FailedKeys {
  return createFailedKeys({
    failuresMax: guessing?.failuresMax,
    perMs: guessing?.perMs ?? 0,
    mono,
    report: (report) => logger.warn(report, 'too many keys that are not valid: somebody may be guessing'),
  });
}
