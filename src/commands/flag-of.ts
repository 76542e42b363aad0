/** Options whose names differ from the field of a key that they give. */
const flags: ReadonlyMap<string, string> = new Map([
  ['expiresAt', '--expires'],
  ['labels', '--label'],
  ['networks', '--network'],
  ['notBefore', '--not-before'],
  ['quotas', '--quota'],
  ['scopes', '--scope'],
]);

/** How a field was given on the command line: `--quota limit` for `quotas[0].limit`. An option, or nothing, stays as it is. */
export function flagOf(field: string): string {
  const [, name, below = ''] = /^(\w+)(?:\[\d+\])?(?:\.(.+))?$/.exec(field) ?? [];
  if (name === undefined) return field;
  return `${flags.get(name) ?? `--${name}`} ${below}`.trimEnd();
}
