import { duration, instant } from '../checked.ts';
import { checkDistinct, checkName, type Rule } from './draft.ts';

/** A key in the cache is served without asking the store, even if that is down. */
export const graceIsNotCutShort: Rule = ({ config: { auth } }, report) => {
  if (duration(auth.graceOnOutage) >= duration(auth.cacheFor)) return;
  report.warning(
    auth,
    'graceOnOutage',
    'is less than auth.cacheFor, for which keys go on working all the same',
  );
};

/** The letter case of a header says nothing, so one of two would never be looked at. */
export const keyHeadersAreDistinct: Rule = ({ config: { auth } }, report) => {
  if (typeof auth.header === 'string' || report.isBroken(auth, 'header')) return;
  const names = auth.header.map((name) => name.toLowerCase());
  for (const [at, name] of names.entries()) {
    const first = names.indexOf(name);
    if (first < at) report.problem(auth.header, String(at), `is [${first}] in another letter case`);
  }
};

export const keysNamePlans: Rule = (draft, report) => {
  for (const key of draft.config.keys) checkName(key, 'plan', draft, report);
};

export const keysAreDistinct: Rule = ({ config }, report) => checkDistinct(config.keys, 'id', report);

/** A key may be kept to show that it expired; but a wrong year looks the same. */
export const keysAreStillValid: Rule = ({ config }, report) => {
  for (const key of config.keys) {
    if (key.expires !== undefined && instant(key.expires) <= Date.now())
      report.warning(key, 'expires', 'has passed, so the key works for nobody');
  }
};
