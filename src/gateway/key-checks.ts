import { isDeepStrictEqual } from 'node:util';
import type { AuthConfig, Config } from '../config/config.ts';
import { countFailedKeys, type CountFailed } from '../keys/failed-keys.ts';
import { createKeyFormat } from '../keys/key-format.ts';
import { createKeyring, type KeyringRules } from '../keys/keyring.ts';
import { UseNotes } from '../keys/use-notes.ts';
import { createKeyRefusals, type KeyCheck } from '../stages/authenticate.ts';
import { maySayBearer } from '../stages/check-request.ts';
import type { KeyStore } from '../stores/key-store.ts';
import type { Logger } from '../telemetry/log.ts';
import { HoldUps } from '../waiting/hold-ups.ts';

interface KeyCheckParts {
  readonly store: KeyStore;
  readonly countFailure: (slowed: boolean) => void;
  readonly logger: Logger;
}

const mono = (): number => performance.now();

/** Every gateway is to hear of a change within this. */
const hearsWithinMs = 1000;

/** What keys are checked with, whatever the configuration: it hears of changes and writes uses until it is closed. */
export interface KeyChecks {
  readonly under: (rules: KeyCheckRules) => KeyCheck;
  readonly close: () => Promise<void>;
}

type KeyCheckRules = Pick<Config, 'auth' | 'keys'>;

/** Puts together what keys are checked with. */
export function openKeyChecks({ store, countFailure, logger }: KeyCheckParts): KeyChecks {
  const holdUps = new HoldUps(mono, hearsWithinMs);
  const keyring = createKeyring({ store, mono, stoodStill: () => holdUps.wasHeldUp() });
  const uses = new UseNotes(store);
  let guesses: Guesses | undefined;
  return {
    under(rules) {
      const { guessing } = rules.auth;
      // A reload does not forgive clients that have tried too often.
      if (guesses === undefined || !isDeepStrictEqual(guesses.guessing, guessing))
        guesses = { guessing, count: guessing && countGuesses(guessing, logger) };
      const { count } = guesses;
      return {
        findKey: keyring.under(keyringRules(rules)),
        noteUse: (found, now) => uses.note(found, now),
        noteFailure(client) {
          const tooMany = count?.(client);
          countFailure(tooMany !== undefined);
          return tooMany;
        },
        now: Date.now,
        refusals: createKeyRefusals(maySayBearer(rules.auth.headers) ? 'Bearer' : 'ApiKey'),
        headerNames: headerNamesOf(rules.auth),
      };
    },
    async close() {
      keyring.close();
      holdUps.end();
      await uses.close();
    },
  };
}

/** What counts the invalid keys, and by which rule; undefined where there may be any number. */
interface Guesses {
  readonly guessing: AuthConfig['guessing'];
  readonly count: CountFailed | undefined;
}

/** Where there is one alone, a request with a key has it there. */
function headerNamesOf({ headers }: AuthConfig): KeyCheck['headerNames'] {
  return headers.length === 1 ? undefined : new Map(headers.map((name) => [name.toLowerCase(), name]));
}

function keyringRules({ auth, keys }: KeyCheckRules): KeyringRules {
  const { prefix, cacheForMs, graceOnOutageMs } = auth;
  return { staticKeys: keys, format: createKeyFormat(prefix), cacheForMs, graceOnOutageMs };
}

function countGuesses(guessing: NonNullable<AuthConfig['guessing']>, logger: Logger): CountFailed {
  return countFailedKeys({
    ...guessing,
    mono,
    report: (report) => logger.warn(report, 'too many keys that are not valid: somebody may be guessing'),
  });
}
