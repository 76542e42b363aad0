const lengthMin = 16;

/** What is to be said of a secret that could be found by trying; undefined for one that could not. */
export function weaknessOf(secret: string): string | undefined {
  return secret.length < lengthMin ? `is shorter than ${lengthMin} characters and can be guessed` : undefined;
}
