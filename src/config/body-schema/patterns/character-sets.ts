import { PatternTooLarge } from './pattern-tree.ts';

/** Sets of characters, a bit for each character of a sample. */
export interface CharacterSets {
  readonly of: (text: string) => bigint;
  readonly all: bigint;
}

/**
 * What each of these parts of a pattern takes (`a`, `\w`, `[^,]`), asked of the engine itself with a sample: ASCII, some of most scripts
 * and kinds, and every character that a part names. Throws `PatternTooLarge`.
 */
export function characterSets(parts: readonly string[]): CharacterSets {
  const different = new Set(parts);
  if ([...different].filter((part) => !isLiteral(part)).length > classesMax) throw new PatternTooLarge();
  const sample = [...new Set([...usual, ...[...different].flatMap(namedIn)])];
  const all = (1n << BigInt(sample.length)) - 1n;
  const anything = all & ~1n; // less one, as `[^]` alone is known to take all
  const known = new Map<string, bigint>();
  const read = (part: string): bigint => {
    if (isLiteral(part)) return 1n << BigInt(sample.indexOf(part));
    // What an earlier group took may be anything.
    if (backReference.test(part)) return anything;
    const expression = new RegExp(`^(?:${part})$`, 'u');
    const taken = sample.map((character, at) => (expression.test(character) ? 1n << BigInt(at) : 0n));
    // Nothing is known of what the sample lacks.
    return taken.reduce((set, bit) => set | bit, 0n) || anything;
  };
  return { of: (part) => known.getOrInsertComputed(part, read), all };
}

/** The first stands for itself: `anything` lacks it. */
const ascii = Array.from({ length: 128 }, (_, at) => String.fromCharCode(at));
/** A letter of each script in wide use, and marks, digits, blanks and signs beyond ASCII. */
const others = '\u0085\u00a0éÉßαΩжЖԱაאب\u0660अঅਅઅஅఅಅഅකกກཀကኣᎠកᠠあア中한ꀀ\u0301\u200d\u2028\ue000\ufeff’–€😀';
const usual = [...ascii, ...Array.from(others)];
const backReference = /^\\(?:[1-9]|k)/;
const oneCharacter = /^[^]$/u;
/** About 200 ms. */
const classesMax = 300;

/** A character by itself takes no other, and is in the sample anyway. */
function isLiteral(part: string): boolean {
  return part !== '.' && oneCharacter.test(part);
}

function namedIn(part: string): string[] {
  const escaped = [
    ...part.matchAll(/\\(?:u\{(?<long>[0-9a-f]+)\}|u(?<four>[0-9a-f]{4})|x(?<two>[0-9a-f]{2}))/gi),
  ];
  const codes = escaped.map(({ groups = {} }) =>
    Number.parseInt(groups['long'] ?? groups['four'] ?? groups['two'] ?? '0', 16),
  );
  return [...Array.from(part), ...codes.map((code) => String.fromCodePoint(code))];
}
