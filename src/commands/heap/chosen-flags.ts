/** The flags of Node and V8 about which nobody has chosen anything `known`, on the command line or in NODE_OPTIONS. */
export function unlessChosen(
  choices: readonly { readonly known: RegExp; readonly flags: readonly string[] }[],
): readonly string[] {
  const given = [...process.execArgv, process.env['NODE_OPTIONS'] ?? ''].join(' ').replaceAll('_', '-');
  return choices.flatMap(({ known, flags }) => (known.test(given) ? [] : flags));
}
