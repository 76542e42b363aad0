/**
 * What Commander says about a wrong word, and what is left of it here. A word may stay as typed where it is as short and plain as a
 * command, or written like an option: a secret is not.
 */
const repetitions: readonly (readonly [said: RegExp, left: string])[] = [
  [/^(error: too many arguments.*? but got \d+): [^]*$/, '$1.\n'],
  [/^(error: unknown command) '(?![a-z]{1,12}'\n)[^]*'\n$/, '$1\n'],
  [/^(error: unknown option '--[a-z-]{1,30})=[^]*('\n)/, '$1$2'],
  [/^(error: unknown option) '(?!(?:-[a-zA-Z]|--[a-z-]{1,30})'\n)[^]*'\n/, '$1\n'],
  [/^(error: (?:option '[^']*' argument|command-argument value)) '[^]*'( is invalid)/, '$1$2'],
];

/** A complaint about the command line, without words that may be a secret in the wrong place. */
export function withholdWords(complaint: string): string {
  return repetitions.reduce((text, [said, left]) => text.replace(said, left), complaint);
}
