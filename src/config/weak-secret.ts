const lengthMin = 16;

/** What examples say in place of a secret: ours do, and those of others. */
const placeholder =
  /(?<![a-z])(?:(?:change|replace)[-_.]?(?:me|this)|please[-_.]?(?:change|replace))(?![a-z])/i;

/** What is to be said of a secret that could be found by trying; undefined for one that could not. */
export function weaknessOf(secret: string): string | undefined {
  if (secret.length < lengthMin) return `is shorter than ${lengthMin} characters and can be guessed`;
  return placeholder.test(secret) ? 'stands in an example that anybody can read' : undefined;
}
