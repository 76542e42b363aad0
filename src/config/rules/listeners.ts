import { addressesCollide, isLoopback } from '../addresses.ts';
import { address } from '../checked.ts';
import { plainTokenName } from '../digest.ts';
import { checkDistinct, type Rule } from './draft.ts';

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

export const proxiesAreSome: Rule = ({ config: { trustProxy } }, report) => {
  for (const [at, network] of trustProxy.entries()) {
    if (!network.endsWith('/0')) continue;
    report.warning(trustProxy, String(at), 'believes everybody, so that callers choose their own addresses');
  }
};

/** The audit log knows tokens by their names. */
export const tokenNamesAreDistinct: Rule = ({ config: { admin } }, report) => {
  const isPlainGiven = admin.token !== '' || report.isBroken(admin, 'token');
  for (const token of admin.tokens) {
    if (isPlainGiven && token.name === plainTokenName)
      report.problem(token, 'name', 'is the name of admin.token too');
  }
  checkDistinct(admin.tokens, 'name', report);
};
