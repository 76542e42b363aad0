/** Flags of Node and V8 that are to be set, and how somebody else's choice is recognised. */
interface Choice {
  readonly known: RegExp;
  readonly flags: readonly string[];
}

/** The flags about which nobody has chosen anything, on the command line or in NODE_OPTIONS. */
export function unlessChosen(choices: readonly Choice[]): readonly string[] {
  const given = [...process.execArgv, process.env['NODE_OPTIONS'] ?? ''].join(' ').replaceAll('_', '-');
  return choices.flatMap(({ known, flags }) => (known.test(given) ? [] : flags));
}
