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

/** In the names of all keys, secrets and their logs, which are in one hash slot by that. */
export const keysTag = '{keys}';

/** The cluster slot of a Redis key: CRC-16/XMODEM of what is in its first braces, modulo 16384 (Redis Cluster specification). */
export function slotOf(key: string): number {
  const open = key.indexOf('{');
  const close = open < 0 ? -1 : key.indexOf('}', open + 1);
  const hashed = close > open + 1 ? key.slice(open + 1, close) : key;
  let crc = 0;
  for (const byte of Buffer.from(hashed)) {
    crc ^= byte << 8;
    for (let bit = 0; bit < 8; bit += 1) crc = (crc & 0x80_00 ? (crc << 1) ^ 0x10_21 : crc << 1) & 0xff_ff;
  }
  return crc % 16_384;
}
