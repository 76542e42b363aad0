import { duration, instant } from '../checked.ts';
import { digestOf } from '../digest.ts';
import { checkName, type Rule } from './draft.ts';
import { checkIsSecret, checkOneSecret } from './secrets.ts';

/** A key in the cache is served without asking the store, even if that is down. */
export const graceIsNotCutShort: Rule = ({ config: { auth } }, report) => {
  if (duration(auth.graceOnOutage) >= duration(auth.cacheFor)) return;
  report.warning(
    auth,
    'graceOnOutage',
    'is less than auth.cacheFor, for which keys go on working all the same',
  );
};

export const keysNamePlans: Rule = (draft, report) => {
  for (const key of draft.config.keys) checkName(key, 'plan', draft, report);
};

export const keysHaveOneSecret: Rule = ({ config }, report) => {
  for (const key of config.keys) checkOneSecret(key, 'secret', report);
};

export const keysAreDistinct: Rule = ({ config }, report) => {
  const ids = new Map<string, object>();
  const digests = new Map<string, object>();
  for (const key of config.keys) {
    const sameId = ids.getOrInsert(key.id, key);
    if (sameId !== key) report.problem(key, 'id', `is the id of ${report.mention(sameId)} too`);
    const digest = digestOf(key);
    const sameSecret = digest === undefined ? key : digests.getOrInsert(digest, key);
    if (sameSecret !== key)
      report.problem(
        key,
        key.secret === undefined ? 'hash' : 'secret',
        `is the secret of ${report.mention(sameSecret)} too`,
      );
  }
};

/** A key may be kept to show that it expired; but a wrong year looks the same. */
export const keysAreStillValid: Rule = ({ config }, report) => {
  for (const key of config.keys) {
    if (key.expires !== undefined && instant(key.expires) <= Date.now())
      report.warning(key, 'expires', 'has passed, so the key works for nobody');
  }
};

export const secretsAreSecrets: Rule = ({ config }, report) => {
  for (const key of config.keys) checkIsSecret(key, 'secret', key.secret ?? '', report);
};
