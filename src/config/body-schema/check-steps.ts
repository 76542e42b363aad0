import { isContainer } from '../../content/is-object.ts';

/**
 * Counts the steps of a check. Where a schema refers to itself in two alternatives, references double with every level of the body:
 * 500 bytes could take minutes, and 60 KB below a few levels would be read thousands of times. So a reference takes one step and
 * those that it takes to look at its value.
 */
export class CheckSteps {
  /** How often all of the body may be looked at. */
  readonly #looksMax: number;
  #left = 0;
  /** Undefined once it has been weighed: only a check that takes many steps needs to know. */
  #body: unknown;

  constructor(depthMax: number) {
    this.#looksMax = referencesPerValue * (depthMax + valuesPerStep);
  }

  begin(body: unknown): void {
    this.#left = stepsMin;
    this.#body = body;
  }

  end(): void {
    this.#body = undefined;
  }

  /** Throws `TooManySteps`. */
  follow(value: unknown): void {
    this.#left -= 1 + weightOf(value);
    if (this.#left < 0) this.#weighBody();
  }

  #weighBody(): void {
    if (this.#body !== undefined) this.#left += this.#looksMax * weightOf(this.#body);
    this.#body = undefined;
    if (this.#left < 0) throw new TooManySteps();
  }
}

export class TooManySteps extends Error {}

/** References for each value, and at each level of it: more than a check that grows with the body needs. */
const referencesPerValue = 2;

/** Enough for any body of use that is small. */
const stepsMin = 100_000;

/** A reference itself takes as long as a look at so many. */
const valuesPerStep = 8;
const charactersPerStep = 64;

/** What is as heavy as this is weighed once; to remember all that is lighter would take longer than to weigh it again. */
const heavy = 8;

/** Kept, as a JSON value never changes. */
const weights = new WeakMap<object, number>();

function weightOf(value: unknown): number {
  if (typeof value === 'string') return 1 / valuesPerStep + value.length / charactersPerStep;
  if (!isContainer(value)) return 1 / valuesPerStep;
  const known = weights.get(value);
  if (known !== undefined) return known;
  let weight = 1 / valuesPerStep;
  if (Array.isArray(value)) {
    for (const item of value) weight += weightOf(item);
  } else {
    for (const key of Object.keys(value)) weight += key.length / charactersPerStep + weightOf(value[key]);
  }
  if (weight >= heavy) weights.set(value, weight);
  return weight;
}
