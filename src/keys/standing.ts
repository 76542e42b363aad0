import type { KeyRecord } from '../stores/key-store.ts';
import { networksOf, type Networks } from '../wire/networks.ts';
import type { FoundKey } from './found-key.ts';

/** Whether a key may be used at a moment, whichever of its secrets is used, and if not, why. */
export const standings = ['good', 'revoked', 'disabled', 'not_yet_valid', 'expired'] as const;
export type Standing = (typeof standings)[number];

/** Why a key that was found is not let in. Callers are never told the reason, operators are. */
export type KeyFlaw = Exclude<Standing, 'good'> | 'secret_expired' | 'wrong_network';

export function standingOf(
  record: Pick<KeyRecord, 'revokedAt' | 'enabled' | 'notBefore' | 'expiresAt'>,
  now: number,
): Standing {
  if (record.revokedAt !== undefined) return 'revoked';
  if (!record.enabled) return 'disabled';
  if (record.notBefore !== undefined && now < record.notBefore) return 'not_yet_valid';
  return hasExpired(record.expiresAt, now) ? 'expired' : 'good';
}

/** From the moment of its expiry on, a key or a secret is refused. */
export function hasExpired(expiresAt: number | undefined, now: number): boolean {
  return expiresAt !== undefined && now >= expiresAt;
}

/** Whether a key may be used from an address. An address that cannot be read is in no network. */
function allowsAddress({ networks }: Pick<KeyRecord, 'networks'>, address: string): boolean {
  if (networks.length === 0) return true;
  return lists.getOrInsertComputed(networks, networksOf).has(address);
}

/**
 * What is wrong with a key when this secret of it comes from this address; undefined for nothing. Without an address, networks do
 * not count.
 */
export function flawOf(found: FoundKey, address: string | undefined, now: number): KeyFlaw | undefined {
  const standing = standingOf(found, now);
  if (standing !== 'good') return standing;
  if (hasExpired(found.secretExpiresAt, now)) return 'secret_expired';
  return address === undefined || allowsAddress(found, address) ? undefined : 'wrong_network';
}

const lists = new WeakMap<readonly string[], Networks>();
