/** Sets of characters, a bit for each character of a sample. */
export interface CharacterSets {
  readonly of: (text: string) => bigint;
  readonly all: bigint;
}

/**
 * What each of these parts of a pattern takes (`a`, `\w`, `[^,]`), asked of the engine itself. The sample is ASCII, a few
 * of the other kinds, and every character that one of the parts names: enough to tell whether two parts overlap.
 */
export function characterSets(parts: readonly string[]): CharacterSets {
  const sample = [...new Set([...ascii, ...others, ...[...new Set(parts)].flatMap(namedIn)])];
  const all = (1n << BigInt(sample.length)) - 1n;
  const known = new Map<string, bigint>();
  const read = (part: string): bigint => {
    // What an earlier group took may be anything.
    if (/^\\(?:[1-9]|k)/.test(part)) return all;
    const expression = new RegExp(`^(?:${part})$`, 'u');
    return sample.reduce((set, one, at) => (expression.test(one) ? set | (1n << BigInt(at)) : set), 0n);
  };
  const of = (part: string): bigint => {
    const set = known.get(part) ?? read(part);
    known.set(part, set);
    return set;
  };
  return { of, all };
}

// --- Internal ---

const ascii = Array.from({ length: 128 }, (_, code) => String.fromCharCode(code));
const others = Array.from('\u0085\u00a0éÉßж\u0301\u0660中한\u2028\ufeff€😀');

function namedIn(part: string): string[] {
  const escaped = [
    ...part.matchAll(/\\(?:u\{(?<long>[0-9a-f]+)\}|u(?<four>[0-9a-f]{4})|x(?<two>[0-9a-f]{2}))/gi),
  ];
  const codes = escaped.map(({ groups = {} }) =>
    Number.parseInt(groups['long'] ?? groups['four'] ?? groups['two'] ?? '0', 16),
  );
  return [...Array.from(part), ...codes.map((code) => String.fromCodePoint(code))];
}
