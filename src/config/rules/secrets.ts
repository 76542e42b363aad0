import { digestOfNothing, digestOf, writtenDigest } from '../digest.ts';
import type { RawKey, RawToken } from '../schema.ts';
import { isHash, isVariable, weaknessOf } from '../weak-secret.ts';
import type { Report, Rule } from './draft.ts';

export const tokenLengthMin = 16;

/** Something else that stands where a secret belongs. */
export function checkIsSecret(
  holder: object,
  option: 'secret' | 'token',
  text: string,
  report: Report,
): void {
  if (isVariable(text))
    report.problem(holder, option, 'looks like a variable that was not replaced, write ${NAME}');
  else if (isHash(text)) {
    // `admin.token` has no hash beside it.
    const place = option === 'token' ? ' in admin.tokens' : '';
    report.problem(holder, option, `is a hash, not the ${option} itself: write it as hash${place}`);
  }
}

/** A key or a token is written plainly or as a hash. A value in a wrong form is there all the same. */
export function checkOneSecret(holder: RawKey | RawToken, plain: 'secret' | 'token', report: Report): void {
  const hasPlain = plain in holder || report.isBroken(holder, plain);
  const hasHash = 'hash' in holder || report.isBroken(holder, 'hash');
  if (!hasPlain && !hasHash) report.problem(holder, '', `needs a ${plain} or a hash`);
  else if (hasPlain && hasHash)
    report.problem(holder, 'hash', `stands beside a ${plain}, only one of them can`);
  if (writtenDigest(holder.hash) === digestOfNothing)
    report.problem(holder, 'hash', 'is that of an empty text, as of a variable that is not set');
}

/** A holder of the key would hold the token, and vice versa. */
export const tokensAreNoKeys: Rule = ({ config: { admin, keys } }, report) => {
  const owners = new Map(keys.map((key) => [digestOf(key), key]));
  // What is missing or empty is nobody's secret.
  for (const none of [undefined, digestOfNothing]) owners.delete(none);
  for (const one of [admin, ...admin.tokens]) {
    const key = owners.get(digestOf(one));
    const option = one.token === undefined ? 'hash' : 'token';
    if (key !== undefined) report.problem(one, option, `is the secret of ${report.mention(key)} too`);
  }
};

export const secretsAreHardToGuess: Rule = ({ config }, report) => {
  const { admin, keys } = config;
  function judge(holder: object, option: string, secret: string | undefined): void {
    const weakness = secret === undefined ? undefined : weaknessOf(secret);
    if (weakness !== undefined) report.warning(holder, option, weakness);
  }
  for (const one of [admin, ...admin.tokens]) {
    if (one.token !== '') judge(one, 'token', one.token);
  }
  for (const key of keys) judge(key, 'secret', key.secret);
};
