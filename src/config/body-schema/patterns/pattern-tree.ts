/** A regular expression as its parts, as far as they matter for the time it takes. */
export type PatternTree =
  /** One character of any set, as written, with the modifiers around it: `\d`, `(?i:a)`. */
  | { readonly kind: 'character'; readonly text: string }
  /** Holds at some places only, and takes no character: `^`, `$`, `\b`. */
  | { readonly kind: 'place'; readonly text: string }
  /** Looks from here without taking a character: `(?=…)`. A lookbehind has its parts as they are read: from its end. */
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
  const groups: Group[] = [{ kind: 'group', isBehind: false, modifiers: '', choices: [[]] }];
  for (const { groups: token = {} } of pattern.matchAll(tokens)) {
    const group = groups.at(-1);
    const sequence = group?.choices.at(-1);
    if (group === undefined || sequence === undefined) break;
    if (groups.length > depthMax) throw new PatternTooLarge();
    if (token['open'] !== undefined) {
      groups.push(opened(token['open'], group));
    } else if (token['close'] !== undefined) {
      groups.pop();
      groups.at(-1)?.choices.at(-1)?.push(closed(group));
    } else if (token['or'] !== undefined) group.choices.push([]);
    else if (token['quantifier'] !== undefined) {
      const part = sequence.pop();
      if (part !== undefined) sequence.push({ kind: 'repeat', part, ...bounds(token['quantifier']) });
    } else if (token['place'] !== undefined) sequence.push(place(token['place'], group));
    else sequence.push({ kind: 'character', text: modified(token['character'] ?? '', group.modifiers) });
  }
  return closed(groups[0]);
}

/** All its characters, as written. */
export function charactersOf(part: PatternTree): readonly string[] {
  if (part.kind === 'character') return [part.text];
  return partsOf(part).flatMap(charactersOf);
}

/** The parts it is made of. */
export function partsOf(part: PatternTree): readonly PatternTree[] {
  if (part.kind === 'character' || part.kind === 'place') return [];
  return 'parts' in part ? part.parts : [part.part];
}

const lengthMax = 10_000;
const depthMax = 100;

interface Group {
  readonly kind: 'group' | 'look';
  /** Whether it is read from its end, as `(?<=…)` is. */
  readonly isBehind: boolean;
  /** Which of `i`, `m` and `s` hold inside. */
  readonly modifiers: string;
  readonly choices: PatternTree[][];
}

/** Escapes and classes are taken whole, so nothing in them is a group or a quantifier. */
const tokens = new RegExp(
  [
    String.raw`(?<open>\((?:\?(?:<?[=!]|[ims]*(?:-[ims]*)?:|<[^>]*>))?)`,
    String.raw`(?<close>\))`,
    String.raw`(?<or>\|)`,
    String.raw`(?<quantifier>(?:[*+?]|\{\d+(?:,\d*)?\})\??)`,
    String.raw`(?<place>[\^$]|\\[bB])`,
    String.raw`(?<character>\\u[dD][89abAB]..\\u[dD][c-fC-F]..|\\u\{[^}]*\}|\\u.{4}|\\x..|\\c.|\\[pP]\{[^}]*\}|\\k<[^>]*>|\\[1-9]\d*|\\[^]|\[(?:\\[^]|[^\]\\])*\]|[^])`,
  ].join('|'),
  'gu',
);

function opened(open: string, outer: Group): Group {
  const kind = /^\(\?<?[=!]/.test(open) ? 'look' : 'group';
  const { on = '', off = '' } = /^\(\?(?<on>[ims]*)(?:-(?<off>[ims]*))?:/.exec(open)?.groups ?? {};
  const modifiers = Array.from('ims').filter(
    (one) => (outer.modifiers + on).includes(one) && !off.includes(one),
  );
  const isBehind = kind === 'look' ? open.startsWith('(?<') : outer.isBehind;
  return { kind, isBehind, modifiers: modifiers.join(''), choices: [[]] };
}

function modified(text: string, modifiers: string): string {
  return modifiers === '' ? text : `(?${modifiers}:${text})`;
}

/** With `m` the ends of lines may be anywhere. What is read from its end ends at the start of the text. */
function place(text: string, { modifiers, isBehind }: Group): PatternTree {
  const isEnd = /[$^]/.test(text);
  if (isEnd && modifiers.includes('m')) return { kind: 'sequence', parts: [] };
  if (isEnd && isBehind) return { kind: 'place', text: text === '^' ? '$' : '^' };
  return { kind: 'place', text };
}

function closed(group: Group | undefined): PatternTree {
  const parts = (group?.choices ?? []).map((sequence): PatternTree => ({
    kind: 'sequence',
    parts: group?.isBehind === true ? sequence.toReversed() : sequence,
  }));
  const choice: PatternTree = { kind: 'choice', parts };
  return group?.kind === 'look' ? { kind: 'look', part: choice } : choice;
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
