import { addressesCollide, isLoopback, parseAddress } from '../addresses.ts';
import { digestOf } from '../digest.ts';
import { noSuch } from './draft.ts';
import type { Rule } from './draft.ts';

const tokenLengthMin = 16;
const secretLengthMin = 16;

/** Whoever reaches the second listener from elsewhere must show a token worth the name. */
export const adminIsGuarded: Rule = ({ config: { admin } }, report) => {
  if (report.isBroken(admin, 'token')) return;
  const address = parseAddress(admin.listen);
  if (admin.token !== '' && admin.token.length < tokenLengthMin) {
    report.problem(admin, 'token', `is shorter than ${tokenLengthMin} characters`);
  } else if (admin.token === '' && address !== undefined && !isLoopback(address)) {
    report.problem(admin, 'listen', 'is not a loopback address, so admin.token is needed');
  }
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
  for (const key of config.keys) {
    if (report.isBroken(key, 'secret', 'hash')) continue;
    if (key.secret === undefined && key.hash === undefined)
      report.problem(key, '', 'needs a secret or a hash');
    else if (key.secret !== undefined && key.hash !== undefined) {
      report.problem(key, 'hash', 'stands beside a secret, only one of them can');
    }
  }
};

export const secretsAreLong: Rule = ({ config }, report) => {
  for (const key of config.keys) {
    if (key.secret === undefined || key.secret.length >= secretLengthMin) continue;
    report.warning(key, 'secret', `is shorter than ${secretLengthMin} characters and can be guessed`);
  }
};

export const keysAreDistinct: Rule = ({ config }, report) => {
  const ids = new Map<string, object>();
  const digests = new Map<string, object>();
  for (const key of config.keys) {
    const sameId = ids.get(key.id);
    if (sameId === undefined) ids.set(key.id, key);
    else report.problem(key, 'id', `is the id of ${report.mention(sameId)} too`);
    const digest = digestOf(key);
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
