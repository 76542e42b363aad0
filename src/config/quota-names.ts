/** What answers call the rate and the concurrency of a plan. A plan may get one at any time, so no quota is ever called so. */
export const rateName = 'rate';
export const concurrencyName = 'concurrency';

const taken = `(?:${rateName}|${concurrencyName})$`;

/** For editors that check the file without this code. */
export const quotaNamePattern = `^(?!${taken})[a-z0-9_-]{1,64}$`;

/** What is wrong with the name of a quota, to be read after it; undefined when nothing is. */
export function quotaNameFault(name: string): string | undefined {
  if (new RegExp(quotaNamePattern).test(name)) return undefined;
  return new RegExp(`^${taken}`).test(name)
    ? 'is how answers call the rate or the concurrency of a plan, choose another name'
    : 'is not the name of a quota, use up to 64 of a-z, 0-9, "_" and "-"';
}
