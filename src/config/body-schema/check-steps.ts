import { isContainer } from '../../content/is-object.ts';

/**
 * Counts the steps of a check. Where a schema refers to itself in two alternatives, references double with every level of the
 * body: 500 bytes could take minutes. A reference takes one step. Once there are many it also takes those that it takes to look at
 * its value: 60 KB of text below a few levels would be read thousands of times.
 */
export class CheckSteps {
  readonly #most: number;
  #left = 0;

  constructor(most: number) {
    this.#most = most;
  }

  begin(): void {
    this.#left = this.#most;
  }

  /** Throws `TooManySteps`. */
  follow(value: unknown): void {
    this.#left -= this.#most - this.#left < few ? 1 : 1 + weightOf(value);
    if (this.#left < 0) throw new TooManySteps();
  }
}

export class TooManySteps extends Error {}

/** The steps it takes to look once at values of this number and size. */
export function weightOfAll(values: number, characters: number): number {
  return values * stepsPerValue + characters * stepsPerCharacter;
}

/** Most bodies need no more, and are not weighed. */
const few = 256;

const stepsPerValue = 1 / 8;
const stepsPerCharacter = 1 / 64;

/** What is as heavy as this is weighed once; to remember all that is lighter would take longer than to weigh it again. */
const heavy = 8;

/** Kept, as a JSON value never changes. */
const weights = new WeakMap<object, number>();

function weightOf(value: unknown): number {
  if (typeof value === 'string') return weightOfAll(1, value.length);
  if (!isContainer(value)) return weightOfAll(1, 0);
  const known = weights.get(value);
  if (known !== undefined) return known;
  let weight = weightOfAll(1, 0);
  if (Array.isArray(value)) {
    for (const item of value) weight += weightOf(item);
  } else {
    for (const key of Object.keys(value)) weight += weightOfAll(0, key.length) + weightOf(value[key]);
  }
  if (weight >= heavy) weights.set(value, weight);
  return weight;
}
