import { PatternTooLarge } from './pattern-tree.ts';

/** Sets of characters, a bit for each kind that a pattern tells apart. */
export interface CharacterSets {
  readonly of: (text: string) => bigint;
  readonly all: bigint;
  readonly kinds: readonly bigint[];
}

/**
 * What each of these parts of a pattern takes (`a`, `\w`, `[^,]`), asked of the engine itself, with one character of each kind that they
 * tell apart: of ASCII, a few others, every character that a part names and, if one looks beyond ASCII, most of the rest. Throws
 * `PatternTooLarge`.
 */
export function characterSets(parts: readonly string[]): CharacterSets {
  // `\b` asks for word characters.
  const different = new Set([...parts, String.raw`\w`]);
  const classes = [...different].filter((part) => !isLiteral(part) && !backReference.test(part));
  const isWide = classes.some((part) => looksBeyondAscii.test(part));
  if (classes.length > (isWide ? wideClassesMax : classesMax)) throw new PatternTooLarge();
  const literals = new Set(parts.filter(isLiteral));
  const few = new Set([...ascii, ...others, ...parts.flatMap(namedIn)]).difference(literals);
  let texts = [[...few].join('') + (isWide ? (beyondAscii ??= listBeyondAscii()) : '')];
  for (const part of classes) {
    const taken = new RegExp(`(?:${part})+`, 'gu');
    texts = texts.flatMap((text) => [(text.match(taken) ?? []).join(''), text.replace(taken, '')]);
    texts = texts.filter((text) => text !== '');
  }
  const firsts = texts.map((text) => String.fromCodePoint(text.codePointAt(0) ?? 0));
  const sample = [...new Set(['\0', ...literals, ...firsts])];
  const kinds = sample.map((_, at) => 1n << BigInt(at));
  const all = union(kinds);
  const known = new Map<string, bigint>();
  const anything = all & ~1n; // less one, as `[^]` alone is known to take all
  const read = (part: string): bigint => {
    if (isLiteral(part)) return 1n << BigInt(sample.indexOf(part));
    // What an earlier group took may be anything.
    if (backReference.test(part)) return anything;
    const expression = new RegExp(`^(?:${part})$`, 'u');
    const set = union(kinds.filter((_, at) => expression.test(sample[at] ?? '')));
    // Nothing is known of what the sample lacks.
    return set === 0n ? anything : set;
  };
  return { of: (part) => known.getOrInsertComputed(part, read), all, kinds };
}

function union(kinds: readonly bigint[]): bigint {
  return kinds.reduce((set, kind) => set | kind, 0n);
}

/** Without the first, which stands for itself: `anything` lacks it. */
const ascii = Array.from({ length: 127 }, (_, at) => String.fromCharCode(at + 1));
const others = Array.from('\u0085\u00a0éÉßж\u0301\u0660中한\u2028\ufeff€😀');
const backReference = /^(?:\(\?[ims]+:)?\\(?:[1-9]|k)/;
const looksBeyondAscii = /\\p|[^\0-\x7f]|\[.*\\[ux]/isu;
const oneCharacter = /^[^]$/u;
/** About 100 and 200 ms. */
const classesMax = 300;
const wideClassesMax = 32;

/** A character by itself takes no other, and is in the sample anyway. */
function isLiteral(part: string): boolean {
  return part !== '.' && oneCharacter.test(part);
}

let beyondAscii: string | undefined;

function listBeyondAscii(): string {
  const codes = manyKinds.flatMap(([from, to]) => Array.from({ length: to - from }, (_, at) => from + at));
  return codes.map((code) => String.fromCodePoint(code)).join('');
}

/** Most scripts and signs, but not the long blocks of one kind: ideographs, Hangul, private use. */
const manyKinds = [
  [0x80, 0x3400],
  [0xa000, 0xac00],
  [0xf900, 0x1_2000],
  [0x1_d000, 0x1_fb00],
] as const;

function namedIn(part: string): string[] {
  const escaped = [
    ...part.matchAll(/\\(?:u\{(?<long>[0-9a-f]+)\}|u(?<four>[0-9a-f]{4})|x(?<two>[0-9a-f]{2}))/gi),
  ];
  const codes = escaped.map(({ groups = {} }) =>
    Number.parseInt(groups['long'] ?? groups['four'] ?? groups['two'] ?? '0', 16),
  );
  return [...Array.from(part), ...codes.map((code) => String.fromCodePoint(code))];
}
