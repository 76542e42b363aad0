import type { Keyring } from '../keys/keyring.ts';
import { Refusal } from '../refusals.ts';
import type { Head } from './check-request.ts';

/** Who calls. It carries an id, never the secret, so nothing after this stage can leak one. */
export interface Caller {
  readonly keyId: string;
  readonly plan: string;
}

const challenge = { 'WWW-Authenticate': 'ApiKey realm="gatehouse"' };

/**
 * Head → Caller. 401 500.
 * All keys that are not valid get the very same answer, whether unknown, repeated, disabled or expired.
 * A store that fails is never "invalid key": the caller may well be in order.
 */
export async function authenticate(head: Head, keyring: Keyring): Promise<Caller> {
  if (head.key === undefined || (head.keyCount === 1 && head.key === '')) {
    throw new Refusal('key_missing', { headers: challenge });
  }
  if (head.keyCount > 1) throw new Refusal('key_invalid', { headers: challenge });
  const record = await find(head.key, keyring);
  const expired = record?.expiresAt !== undefined && record.expiresAt <= Date.now();
  if (record === undefined || !record.enabled || expired) {
    throw new Refusal('key_invalid', { headers: challenge });
  }
  return { keyId: record.id, plan: record.plan };
}

async function find(secret: string, keyring: Keyring): Promise<Awaited<ReturnType<Keyring['find']>>> {
  try {
    return await keyring.find(secret);
  } catch (cause) {
    throw new Refusal('keys_unavailable', { cause });
  }
}
