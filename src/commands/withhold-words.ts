/**
 * What the library of the command line says of a wrong word, with what is left of it here. A word may stand as it was typed where it
 * is near to a command, short and plain, or written as options are.
 */
const repetitions: readonly (readonly [said: RegExp, left: string])[] = [
  [/^(error: too many arguments.*? but got \d+): [^]*$/, '$1.\n'],
  [/^(error: unknown command) '(?![a-z]{1,12}'\n)[^]*'\n$/, '$1\n'],
  [/^(error: unknown option '--[a-z-]{1,30})=[^]*('\n)/, '$1$2'],
  [/^(error: unknown option) '(?!(?:-[a-zA-Z]|--[a-z-]{1,30})'\n)[^]*'\n/, '$1\n'],
  [/^(error: (?:option '[^']*' argument|command-argument value)) '[^]*'( is invalid)/, '$1$2'],
];

/** A complaint about the command line without those words of it that may be a secret in the wrong place. */
export function withholdWords(complaint: string): string {
  return repetitions.reduce((text, [said, left]) => text.replace(said, left), complaint);
}
