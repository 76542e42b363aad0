import { digestOf, digestOfNothing, writtenDigest } from '../digest.ts';
import type { RawConfig, RawKey, RawToken } from '../schema.ts';
import { doubtAbout, isHash, isVariable, nowhereElse, secretLengthMin } from '../weak-secret.ts';
import { duplicatesOf, type Report, type Rule } from './draft.ts';

/** The secret of a key, or of one who administers. An empty `admin.token` is none. */
interface Secret {
  readonly holder: RawKey | RawToken | RawConfig['admin'];
  readonly option: 'secret' | 'token';
  /** Undefined where it is written as a hash, or not at all. */
  readonly text: string | undefined;
}

function secretsOf({ admin, keys }: RawConfig): readonly Secret[] {
  const tokens = admin.token === '' ? admin.tokens : [admin, ...admin.tokens];
  return [
    ...keys.map((holder) => ({ holder, option: 'secret', text: holder.secret }) as const),
    ...tokens.map((holder) => ({ holder, option: 'token', text: holder.token }) as const),
  ];
}

export const secretsAreWrittenOnce: Rule = ({ config: { admin, keys } }, report) => {
  for (const key of keys) checkWrittenOnce(key, 'secret', report);
  for (const token of admin.tokens) checkWrittenOnce(token, 'token', report);
};

/** Plainly or as a hash. A value in a wrong form is there all the same. */
function checkWrittenOnce(holder: RawKey | RawToken, plain: Secret['option'], report: Report): void {
  const hasPlain = plain in holder || report.isBroken(holder, plain);
  const hasHash = 'hash' in holder || report.isBroken(holder, 'hash');
  if (!hasPlain && !hasHash) report.problem(holder, '', `needs a ${plain} or a hash`);
  else if (hasPlain && hasHash)
    report.problem(holder, 'hash', `stands beside a ${plain}, only one of them can`);
  if (writtenDigest(holder.hash) === digestOfNothing)
    report.problem(holder, 'hash', 'is that of an empty text, as of a variable that is not set');
}

/** What was written may be something else by mistake. A short token is refused: whoever guesses it administers the gateway. */
export const secretsAreSecret: Rule = ({ config }, report) => {
  for (const { holder, option, text } of secretsOf(config)) {
    if (text === undefined) continue;
    // `admin.token` has no hash beside it.
    const place = option === 'token' ? ' in admin.tokens' : '';
    const doubt = doubtAbout(text);
    if (isVariable(text))
      report.problem(holder, option, 'looks like a variable that was not replaced, write ${NAME}');
    else if (isHash(text))
      report.problem(holder, option, `is a hash, not the ${option} itself: write it as hash${place}`);
    else if (doubt !== undefined && option === 'token' && text.length < secretLengthMin)
      report.problem(holder, option, doubt);
    else if (doubt !== undefined) report.warning(holder, option, doubt);
  }
};

/** All that stands beside a secret is shown in lists, logs or headers. */
export const secretsStandAlone: Rule = ({ config }, report) => {
  for (const { holder, option, text } of secretsOf(config)) {
    for (const [other, value] of Object.entries(holder)) {
      if (other !== option && value === text)
        report.problem(holder, other, `is the ${option} too, ${nowhereElse}`);
    }
  }
};

/** No secret is used twice, neither by keys nor by tokens: who has one would have both. Missing and empty ones do not count. */
export const secretsAreDistinct: Rule = ({ config }, report) => {
  const written = secretsOf(config).filter(({ holder }) => digestOf(holder) !== digestOfNothing);
  for (const [{ holder, option, text }, first] of duplicatesOf(written, (one) => digestOf(one.holder))) {
    const place = text === undefined ? 'hash' : option;
    report.problem(holder, place, `is the ${first.option} of ${report.mention(first.holder)} too`);
  }
};
