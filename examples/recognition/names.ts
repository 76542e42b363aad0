import { readFileSync } from 'node:fs';

/** What the list of given names says about one of them. */
export interface NameGuess {
  readonly guess: 'female' | 'male' | 'unknown';
  /** The share of the guessed gender among everyone registered with the name; null when the name is not listed. */
  readonly probability: number | null;
  /** How many registrations the guess rests on. */
  readonly count: number;
}

interface Registrations {
  readonly female: number;
  readonly male: number;
}

const registrations = readList(new URL('./given-names.csv', import.meta.url));

/** Guesses from the given name alone: letter case and accents do not matter, of a double name the first part counts. */
export function guessByName(firstName: string): NameGuess {
  const whole = normalise(firstName);
  const known = registrations.get(whole) ?? registrations.get(whole.split(/[\s-]/)[0] ?? '');
  if (!known) return { guess: 'unknown', probability: null, count: 0 };
  const count = known.female + known.male;
  const larger = Math.max(known.female, known.male);
  const guess = known.female > known.male ? 'female' : 'male';
  return { guess, probability: Number((larger / count).toFixed(3)), count };
}

function normalise(name: string): string {
  return name
    .trim()
    .normalize('NFD')
    .replaceAll(/\p{Mark}/gu, '')
    .toLowerCase();
}

function readList(file: URL): ReadonlyMap<string, Registrations> {
  const [, ...lines] = readFileSync(file, 'utf8').trim().split('\n');
  return new Map(
    lines.map((line) => {
      const [name = '', female, male] = line.split(',');
      return [normalise(name), { female: Number(female), male: Number(male) }];
    }),
  );
}
