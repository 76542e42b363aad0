import type { Counter } from '../ledger.ts';

/**
 * The Redis keys of one API key: all in one hash slot, whatever characters its id has. Free text comes last in each name, so two
 * names are never the same by accident.
 */
export function nameKeys(prefix: string, keyId: string) {
  // Only what is in the first braces decides the slot, and empty braces do not count: hence the letter.
  const tag = `${prefix}{k${Buffer.from(keyId).toString('base64url')}}`;
  return {
    /** The latest steps of a holder, and its earlier ones. */
    steps: (holder: string) => [`${tag}:steps:${holder}`, `${tag}:earlier:${holder}`] as const,
    counter: ({ name, periodStart }: Pick<Counter, 'name' | 'periodStart'>) =>
      `${tag}:used:${periodStart}:${name}`,
    rate: (name: string) => `${tag}:rate:${name}`,
    places: () => `${tag}:places`,
  };
}
