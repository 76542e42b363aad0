/** A shorter one can be guessed. */
export const secretLengthMin = 16;

/** What is said of a secret or token that holds anything else. */
export const notVisible = 'must be visible ASCII characters without spaces or line breaks';

/** What is said of a secret that was also written where it would be shown. */
export const nowhereElse = 'which belongs nowhere else';

/** What examples, ours and others', say in place of a secret. */
const placeholder =
  /(?<![a-z])(?:(?:change|replace)[-_.]?(?:me|this)|please[-_.]?(?:change|replace))(?![a-z])/i;

/** A whole text that is `$NAME`, also with what is left of a default behind it, `$(NAME)`, `${NAME}`, `{{NAME}}`, `%NAME%` or `<NAME>`. */
const variable = /^(?:\$[A-Z_][A-Z0-9_]*(?::-.*)?\}?|\$\([^()]+\)|\$\{[^{}]+\}|\{\{.+\}\}|%\w+%|<[^<>]+>)$/;

/** Whether a text is a placeholder that a template, a shell or a reader of a guide should have replaced. */
export function isVariable(text: string): boolean {
  return variable.test(text);
}

/** Whether a text is a hash as `hash` takes it, or nearly. As a secret it would be hashed once more, and fit nothing that callers send. */
export function isHash(text: string): boolean {
  return /^sha256:[0-9a-f]{64}$/i.test(text);
}

/** `docker run --env-file` and `kubectl create secret --from-env-file` take the quotes in a file for a part of the value. */
const quoted = /^(["']).*\1$/;

/** What is wrong with a secret that can be guessed, or that callers will probably send otherwise; undefined for any other. */
export function doubtAbout(secret: string): string | undefined {
  if (secret.length < secretLengthMin)
    return `is shorter than ${secretLengthMin} characters and can be guessed`;
  if (placeholder.test(secret)) return 'stands in an example that anybody can read';
  return quoted.test(secret) ? 'has quotes around it, which have to be sent too: take them out' : undefined;
}
