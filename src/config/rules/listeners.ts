import { addressesCollide, isLoopback } from '../addresses.ts';
import { address, checked } from '../checked.ts';
import { digestOf, plainTokenName } from '../digest.ts';
import type { Rule } from './draft.ts';
import { checkIsSecret, checkOneSecret, tokenLengthMin } from './secrets.ts';

export const listenersDiffer: Rule = ({ config }, report) => {
  if (report.isBroken(config, 'listen') || report.isBroken(config.admin, 'listen')) return;
  if (addressesCollide(address(config.listen), address(config.admin.listen)))
    report.problem(config, 'listen', 'is the address of admin.listen too, they must differ');
};

/** A second listener that can be reached from elsewhere needs a token. */
export const adminIsGuarded: Rule = ({ config: { admin } }, report) => {
  const isGuarded =
    admin.token !== '' || admin.tokens.length > 0 || report.isBroken(admin, 'token', 'tokens');
  if (!isGuarded && !isLoopback(address(admin.listen))) {
    report.problem(admin, 'listen', 'is not a loopback address, so admin.token or admin.tokens is needed');
  }
};

export const tokensHaveOneSecret: Rule = ({ config: { admin } }, report) => {
  for (const one of admin.tokens) checkOneSecret(one, 'token', report);
};

export const tokensAreStrong: Rule = ({ config: { admin } }, report) => {
  for (const one of [admin, ...admin.tokens]) {
    const { token } = one;
    // An empty `admin.token` is none.
    if (token === undefined || (token === '' && one === admin)) continue;
    checkIsSecret(one, 'token', token, report);
    if (token.length < tokenLengthMin && !report.isBroken(one, 'token'))
      report.problem(one, 'token', `is shorter than ${tokenLengthMin} characters`);
  }
};

export const proxiesAreSome: Rule = ({ config: { trustProxy } }, report) => {
  for (const [at, network] of trustProxy.entries()) {
    if (!network.endsWith('/0')) continue;
    report.warning(trustProxy, String(at), 'believes everybody, so that callers choose their own addresses');
  }
};

/** The audit log knows tokens by their names, so each belongs to one token, and each token has one. */
export const tokensAreDistinct: Rule = ({ config: { admin } }, report) => {
  const names = new Map<string, string>();
  const digests = new Map<string, string>();
  if (admin.token !== '' || report.isBroken(admin, 'token')) names.set(plainTokenName, 'admin.token');
  if (admin.token !== '') digests.set(checked(digestOf(admin)), 'admin.token');
  for (const one of admin.tokens) {
    const own = report.mention(one);
    const sameName = names.getOrInsert(one.name, own);
    if (sameName !== own) report.problem(one, 'name', `is the name of ${sameName} too`);
    const digest = digestOf(one);
    const sameToken = digest === undefined ? own : digests.getOrInsert(digest, own);
    const option = one.token === undefined ? 'hash' : 'token';
    if (sameToken !== own) report.problem(one, option, `is the token of ${sameToken} too`);
  }
};
