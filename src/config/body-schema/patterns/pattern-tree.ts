/** A regular expression as its parts, as far as they matter for the time it takes. */
export type PatternTree =
  /** One character of any set, as written. */
  | { readonly kind: 'character'; readonly text: string }
  /** Holds at some places only, and takes no character: `^`, `$`. */
  | { readonly kind: 'place'; readonly text: string }
  /** Looks from here without taking a character: `(?=…)`, `\b`. */
  | { readonly kind: 'look'; readonly part: PatternTree }
  | { readonly kind: 'sequence' | 'choice'; readonly parts: readonly PatternTree[] }
  | PatternRepeat;

/** A part that is read a number of times in a row: `*`, `{1,20}`. */
export interface PatternRepeat {
  readonly kind: 'repeat';
  readonly part: PatternTree;
  readonly least: number;
  readonly most: number;
}

/** The pattern is too large, or nested too deep, for the time allowed to look at it. */
export class PatternTooLarge extends Error {}

/** The parts of a regular expression that is well formed with the flag `u`. Throws `PatternTooLarge`. */
export function parsePattern(pattern: string): PatternTree {
  if (pattern.length > lengthMax) throw new PatternTooLarge();
  const groups: Group[] = [{ isLook: false, choices: [[]] }];
  for (const { groups: token = {} } of pattern.matchAll(tokens)) {
    const group = groups.at(-1);
    const sequence = group?.choices.at(-1);
    if (group === undefined || sequence === undefined) break;
    if (groups.length > depthMax) throw new PatternTooLarge();
    if (token['open'] !== undefined) {
      groups.push({ isLook: /^\(\?<?[=!]/.test(token['open']), choices: [[]] });
    } else if (token['close'] !== undefined) {
      groups.pop();
      groups.at(-1)?.choices.at(-1)?.push(closed(group));
    } else if (token['or'] !== undefined) group.choices.push([]);
    else if (token['quantifier'] !== undefined) {
      const part = sequence.pop();
      if (part !== undefined) sequence.push({ kind: 'repeat', part, ...bounds(token['quantifier']) });
    } else if (token['place'] !== undefined) sequence.push({ kind: 'place', text: token['place'] });
    else if (token['border'] !== undefined) sequence.push(border);
    else sequence.push({ kind: 'character', text: token['character'] ?? '' });
  }
  return closed(groups[0]);
}

/** All its characters, as written. */
export function charactersOf(part: PatternTree): readonly string[] {
  if (part.kind === 'character') return [part.text];
  if (part.kind === 'place') return [];
  return ('parts' in part ? part.parts : [part.part]).flatMap(charactersOf);
}

const lengthMax = 10_000;
const depthMax = 100;

interface Group {
  readonly isLook: boolean;
  readonly choices: PatternTree[][];
}

/** What stands at the border of a word or not (`\b`, `\B`) may fail there, as a look may: which characters it wants is passed over. */
const border: PatternTree = { kind: 'look', part: { kind: 'sequence', parts: [] } };

/** Escapes and classes are taken whole, so nothing in them is a group or a quantifier. Modifiers such as `(?i:…)` are passed over. */
const tokens = new RegExp(
  [
    String.raw`(?<open>\((?:\?(?:<?[=!]|[ims]*(?:-[ims]*)?:|<[^>]*>))?)`,
    String.raw`(?<close>\))`,
    String.raw`(?<or>\|)`,
    String.raw`(?<quantifier>(?:[*+?]|\{\d+(?:,\d*)?\})\??)`,
    String.raw`(?<place>[\^$])`,
    String.raw`(?<border>\\[bB])`,
    String.raw`(?<character>\\u[dD][89abAB]..\\u[dD][c-fC-F]..|\\u\{[^}]*\}|\\u.{4}|\\x..|\\c.|\\[pP]\{[^}]*\}|\\k<[^>]*>|\\[1-9]\d*|\\[^]|\[(?:\\[^]|[^\]\\])*\]|[^])`,
  ].join('|'),
  'gu',
);

function closed(group: Group | undefined): PatternTree {
  const parts = (group?.choices ?? []).map((sequence): PatternTree => ({
    kind: 'sequence',
    parts: sequence,
  }));
  const choice: PatternTree = { kind: 'choice', parts };
  return group?.isLook === true ? { kind: 'look', part: choice } : choice;
}

function bounds(quantifier: string): { least: number; most: number } {
  if (quantifier.startsWith('*')) return { least: 0, most: Infinity };
  if (quantifier.startsWith('+')) return { least: 1, most: Infinity };
  if (quantifier.startsWith('?')) return { least: 0, most: 1 };
  const [least = '', most] = quantifier.slice(1, quantifier.indexOf('}')).split(',');
  return {
    least: Number(least),
    most: most === undefined ? Number(least) : most === '' ? Infinity : Number(most),
  };
}
