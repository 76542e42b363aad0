import { addressesCollide, isLoopback, parseAddress } from '../addresses.ts';
import { keyDigest, plainTokenName, tokenDigest } from '../digest.ts';
import { parseInstant } from '../instants.ts';
import { checked } from '../checked.ts';
import { isVariable, weaknessOf } from '../weak-secret.ts';
import { durationOrZero } from './amounts.ts';
import { noSuch, type Report, type Rule } from './draft.ts';
import type { RawKey, RawToken } from '../schema.ts';

const tokenLengthMin = 16;
const notReplaced = 'looks like a variable that was not replaced, write ${NAME}';

/** A second listener that can be reached from elsewhere needs a strong token. */
export const adminIsGuarded: Rule = ({ config: { admin } }, report) => {
  const isGuarded =
    admin.token !== '' || admin.tokens.length > 0 || report.isBroken(admin, 'token', 'tokens');
  const address = parseAddress(admin.listen);
  if (admin.token !== '') checkToken(admin, admin.token, report);
  if (!isGuarded && address !== undefined && !isLoopback(address)) {
    report.problem(admin, 'listen', 'is not a loopback address, so admin.token or admin.tokens is needed');
  }
};

/** A key in the cache is served without asking the store, even if that is down. */
export const graceIsNotCutShort: Rule = ({ config: { auth } }, report) => {
  if (report.isBroken(auth, 'graceOnOutage', 'cacheFor')) return;
  if (durationOrZero(auth.graceOnOutage) >= durationOrZero(auth.cacheFor)) return;
  report.warning(
    auth,
    'graceOnOutage',
    'is less than auth.cacheFor, for which keys go on working all the same',
  );
};

export const tokensHaveOneSecret: Rule = ({ config: { admin } }, report) => {
  for (const one of admin.tokens) {
    checkOneSecret(one, 'token', report);
    if (one.token !== undefined) checkToken(one, one.token, report);
  }
};

function checkToken(holder: object, token: string, report: Report): void {
  if (isVariable(token)) report.problem(holder, 'token', notReplaced);
  else if (token.length < tokenLengthMin)
    report.problem(holder, 'token', `is shorter than ${tokenLengthMin} characters`);
}

/** The audit log knows tokens by their names, so each belongs to one token, and each token has one. */
export const tokensAreDistinct: Rule = ({ config: { admin } }, report) => {
  const names = new Map<string, string>();
  const digests = new Map<string, string>();
  if (admin.token !== '' || report.isBroken(admin, 'token')) names.set(plainTokenName, 'admin.token');
  if (admin.token !== '') digests.set(checked(tokenDigest({ token: admin.token })), 'admin.token');
  for (const one of admin.tokens) {
    const sameName = names.get(one.name);
    if (sameName !== undefined) report.problem(one, 'name', `is the name of ${sameName} too`);
    else names.set(one.name, report.mention(one));
    const digest = tokenDigest(one);
    const sameToken = digest === undefined ? undefined : digests.get(digest);
    const option = one.token === undefined ? 'hash' : 'token';
    if (sameToken !== undefined) report.problem(one, option, `is the token of ${sameToken} too`);
    else if (digest !== undefined) digests.set(digest, report.mention(one));
  }
};

/** A holder of the key would hold the token, and vice versa. */
export const tokensAreNoKeys: Rule = ({ config: { admin, keys } }, report) => {
  const owners = new Map(keys.map((key) => [keyDigest(key), key]));
  function compare(holder: object, token: Parameters<typeof tokenDigest>[0]): void {
    const digest = tokenDigest(token);
    const key = digest === undefined ? undefined : owners.get(digest);
    const option = token.token === undefined ? 'hash' : 'token';
    if (key !== undefined) report.problem(holder, option, `is the secret of ${report.mention(key)} too`);
  }
  compare(admin, { token: admin.token });
  for (const one of admin.tokens) compare(one, one);
};

export const listenersDiffer: Rule = ({ config }, report) => {
  if (report.isBroken(config, 'listen') || report.isBroken(config.admin, 'listen')) return;
  const one = parseAddress(config.listen);
  const other = parseAddress(config.admin.listen);
  if (one !== undefined && other !== undefined && addressesCollide(one, other)) {
    report.problem(config, 'listen', 'is the address of admin.listen too, they must differ');
  }
};

export const keysNamePlans: Rule = ({ config, declared }, report) => {
  const { plans } = declared;
  if (plans === undefined) return;
  for (const key of config.keys) {
    if (plans.includes(key.plan)) continue;
    const name = { text: key.plan, hidden: report.isHidden(key, 'plan') };
    report.problem(key, 'plan', noSuch('plan', name, plans));
  }
};

export const keysHaveOneSecret: Rule = ({ config }, report) => {
  for (const key of config.keys) checkOneSecret(key, 'secret', report);
};

/** A value in a wrong form is there all the same. */
function checkOneSecret(holder: RawKey | RawToken, plain: 'secret' | 'token', report: Report): void {
  const hasPlain = plain in holder || report.isBroken(holder, plain);
  const hasHash = 'hash' in holder || report.isBroken(holder, 'hash');
  if (!hasPlain && !hasHash) report.problem(holder, '', `needs a ${plain} or a hash`);
  else if (hasPlain && hasHash)
    report.problem(holder, 'hash', `stands beside a ${plain}, only one of them can`);
}

export const secretsAreNoVariables: Rule = ({ config }, report) => {
  for (const key of config.keys) {
    if (isVariable(key.secret ?? '')) report.problem(key, 'secret', notReplaced);
  }
};

export const secretsAreHardToGuess: Rule = ({ config }, report) => {
  const { admin, keys } = config;
  function judge(holder: object, option: string, secret: string | undefined): void {
    const weakness = secret === undefined ? undefined : weaknessOf(secret);
    if (weakness !== undefined) report.warning(holder, option, weakness);
  }
  // A token that is too short is a mistake already.
  for (const one of [admin, ...admin.tokens]) {
    if ((one.token ?? '').length >= tokenLengthMin) judge(one, 'token', one.token);
  }
  for (const key of keys) judge(key, 'secret', key.secret);
};

/** A key may be kept to show that it expired; but a wrong year looks the same. */
export const keysAreStillValid: Rule = ({ config }, report) => {
  for (const key of config.keys) {
    if (key.expires === undefined || report.isBroken(key, 'expires')) continue;
    if ((parseInstant(key.expires) ?? 0) <= Date.now())
      report.warning(key, 'expires', 'has passed, so the key works for nobody');
  }
};

export const keysAreDistinct: Rule = ({ config }, report) => {
  const ids = new Map<string, object>();
  const digests = new Map<string, object>();
  for (const key of config.keys) {
    const sameId = ids.get(key.id);
    if (sameId === undefined) ids.set(key.id, key);
    else report.problem(key, 'id', `is the id of ${report.mention(sameId)} too`);
    const digest = keyDigest(key);
    const sameSecret = digest === undefined ? undefined : digests.get(digest);
    if (sameSecret !== undefined)
      report.problem(
        key,
        key.secret === undefined ? 'hash' : 'secret',
        `is the secret of ${report.mention(sameSecret)} too`,
      );
    else if (digest !== undefined) digests.set(digest, key);
  }
};
