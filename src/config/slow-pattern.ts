/**
 * Whether a regular expression repeats without bound what repeats without bound itself, as `(a+)+` does. A text that
 * nearly fits can take it time that doubles with each character (CWE-1333). Some of those are harmless, such as
 * `(a+,)+`: telling them apart would take the sets of characters, and a warning asks for a look only.
 */
export function isSlowPattern(pattern: string): boolean {
  const groups: { repeats: boolean }[] = [{ repeats: false }];
  for (const [token] of pattern.matchAll(tokens)) {
    const group = groups.at(-1) ?? { repeats: false };
    if (token.startsWith('(')) groups.push({ repeats: false });
    else if (token.startsWith(')')) {
      const outer = groups.at(-2) ?? group;
      const repeated = isEndless(token.slice(1));
      if (group.repeats && repeated) return true;
      outer.repeats ||= group.repeats || repeated;
      if (groups.length > 1) groups.pop();
    } else if (isEndless(token)) group.repeats = true;
  }
  return false;
}

/** Escapes and classes are taken whole, so what they hold is no group and no quantifier. */
const tokens =
  /\\[^]|\[(?:\\[^]|[^\]\\])*\]|\((?:\?(?:<?[=!]|:|<\w+>))?|\)(?:[*+?]|\{\d+(?:,\d*)?\})?|[*+]|\{\d+,\}/g;

function isEndless(quantifier: string): boolean {
  return /^(?:[*+]|\{\d+,\})$/.test(quantifier);
}
