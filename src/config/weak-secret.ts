const lengthMin = 16;

/** What examples say in place of a secret: ours do, and those of others. */
const placeholder =
  /(?<![a-z])(?:(?:change|replace)[-_.]?(?:me|this)|please[-_.]?(?:change|replace))(?![a-z])/i;

/** A whole text that is `$NAME`, `$(NAME)`, `${NAME}`, `{{NAME}}`, `%NAME%` or `<NAME>`. */
const variable = /^(?:\$[A-Z_][A-Z0-9_]*|\$\([^()]+\)|\$\{[^{}]+\}|\{\{.+\}\}|%\w+%|<[^<>]+>)$/;

/** Whether a text is what a template, a shell or a reader of a guide should have put a secret in the place of. */
export function isVariable(text: string): boolean {
  return variable.test(text);
}

/** What is to be said of a secret that could be found by trying; undefined for one that could not. */
export function weaknessOf(secret: string): string | undefined {
  if (secret.length < lengthMin) return `is shorter than ${lengthMin} characters and can be guessed`;
  return placeholder.test(secret) ? 'stands in an example that anybody can read' : undefined;
}
