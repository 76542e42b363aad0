import { hash } from 'node:crypto';
import { isContainer } from '../../content/is-object.ts';

/**
 * Whether two JSON values are the same. It takes no longer than what is allowed is large: a body may be held against a thousand
 * constants.
 */
export function areEqual(allowed: unknown, value: unknown): boolean {
  if (!isContainer(allowed) || !isContainer(value)) return allowed === value;
  if (Array.isArray(allowed) !== Array.isArray(value)) return false;
  const has = (name: string): boolean =>
    Object.hasOwn(value, name) && areEqual(Reflect.get(allowed, name), Reflect.get(value, name));
  return Object.keys(allowed).every(has) && sizeOf(allowed) === sizeOf(value);
}

/** Kept, as a JSON value never changes: counting 200,000 members takes 100 ms. */
const sizes = new WeakMap<object, number>();

function sizeOf(value: object): number {
  return sizes.getOrInsertComputed(value, (all) => Object.keys(all).length);
}

/** Whether no two items are the same, found in linear time. */
export function areUnique(items: readonly unknown[]): boolean {
  const seen = new Set<string>();
  for (const item of items) {
    const written = canonical(item);
    if (seen.has(written)) return false;
    seen.add(written);
  }
  return true;
}

/** Tells whether a value is one of those allowed, in a time that does not depend on how many they are. */
export function among(allowed: readonly unknown[]): (value: unknown) => boolean {
  const scalars = new Set(allowed.filter((one) => !isContainer(one)));
  const containers = new Set(allowed.filter(isContainer).map(canonical));
  return (value) => (isContainer(value) ? containers.has(canonical(value)) : scalars.has(value));
}

/** Equal values give equal text and different values different text. The nesting is bounded by the route's limit. */
function canonical(value: unknown): string {
  if (!isContainer(value)) return JSON.stringify(value);
  const known = digests.get(value);
  if (known !== undefined) return known;
  const text = Array.isArray(value) ? `[${value.map(canonical).join()}]` : `{${membersOf(value).join()}}`;
  if (text.length < long) return text;
  // No JSON begins like that.
  const digest = `#${hash('sha256', text, 'base64')}`;
  digests.set(value, digest);
  return digest;
}

function membersOf(value: Readonly<Record<string, unknown>>): string[] {
  const members = Object.entries(value).map(([key, member]) => `${JSON.stringify(key)}:${canonical(member)}`);
  return members.toSorted();
}

/**
 * Kept, as a JSON value never changes: where a schema refers to itself, all that a list holds would otherwise be written again for
 * each list around it. A digest, because the texts of all levels take as many times the memory of the body.
 */
const digests = new WeakMap<object, string>();

/** To keep what is shorter would take longer than to write it again. */
const long = 256;

/** Makes the check for multiples of a number, which goes by the decimals that people wrote. */
export function multiplesOf(divisor: number): (value: number) => boolean {
  const step = decimalOf(divisor);
  const dividesOne = isDivisible(decimalOf(1), step);
  return (value: number) => {
    // Many prices are whole: at a step of 0.01 these need no look at their digits.
    if (Number.isInteger(value) && dividesOne) return true;
    if (Number.isInteger(value) && Number.isInteger(divisor)) return value % divisor === 0;
    return isDivisible(decimalOf(value), step);
  };
}

/** An integer, and the power of ten to multiply it by. */
type Decimal = readonly [digits: bigint, exponent: number];

/** The shortest decimal that reads as this number. */
function decimalOf(value: number): Decimal {
  const [mantissa = '0', exponent = '0'] = value.toExponential().split('e');
  const fraction = mantissa.split('.')[1] ?? '';
  return [BigInt(mantissa.replace('.', '')), Number(exponent) - fraction.length];
}

function isDivisible([digits, exponent]: Decimal, [by, byExponent]: Decimal): boolean {
  const lowest = Math.min(exponent, byExponent);
  return scale(digits, exponent - lowest) % scale(by, byExponent - lowest) === 0n;
}

function scale(digits: bigint, exponent: number): bigint {
  return digits * 10n ** BigInt(exponent);
}
