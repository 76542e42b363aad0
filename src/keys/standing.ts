import { networksOf, type Networks } from '../wire/networks.ts';
import type { KeyRecord } from '../stores/key-store.ts';
import type { FoundKey } from './found-key.ts';

/** Whether a key may be used at a moment, and if not, why. Callers are never told the reason, operators are. */
export type Standing = 'good' | 'revoked' | 'disabled' | 'not_yet_valid' | 'expired' | 'secret_expired';

/** The standing of a key as a whole, whichever of its secrets is used. */
export function standingOfKey(
  record: Pick<KeyRecord, 'revokedAt' | 'enabled' | 'notBefore' | 'expiresAt'>,
  now: number,
): Exclude<Standing, 'secret_expired'> {
  if (record.revokedAt !== undefined) return 'revoked';
  if (!record.enabled) return 'disabled';
  if (record.notBefore !== undefined && now < record.notBefore) return 'not_yet_valid';
  return hasExpired(record.expiresAt, now) ? 'expired' : 'good';
}

/** The standing of a key when this secret of it is used. */
export function standingOf(found: FoundKey, now: number): Standing {
  const standing = standingOfKey(found, now);
  if (standing !== 'good') return standing;
  return hasExpired(found.secretExpiresAt, now) ? 'secret_expired' : 'good';
}

/** From the moment of its expiry on, a key or a secret is refused. */
export function hasExpired(expiresAt: number | undefined, now: number): boolean {
  return expiresAt !== undefined && now >= expiresAt;
}

/** Whether a key may be used from an address. An address that cannot be read is in no network. */
export function allowsAddress({ networks }: Pick<KeyRecord, 'networks'>, address: string): boolean {
  if (networks.length === 0) return true;
  let known = lists.get(networks);
  if (known === undefined) {
    known = networksOf(networks);
    lists.set(networks, known);
  }
  return known.has(address);
}

/** Why a key that was found is no good; undefined when it is. Without an address only its standing counts. */
export function problemOf(
  found: FoundKey,
  address: string | undefined,
  now: number,
): Exclude<Standing, 'good'> | 'wrong_network' | undefined {
  const standing = standingOf(found, now);
  if (standing !== 'good') return standing;
  return address === undefined || allowsAddress(found, address) ? undefined : 'wrong_network';
}

const lists = new WeakMap<readonly string[], Networks>();
