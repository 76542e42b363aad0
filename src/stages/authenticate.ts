import type { FoundKey } from '../keys/found-key.ts';
import type { KeyFinder } from '../keys/keyring.ts';
import { allowsAddress, standingOf } from '../keys/standing.ts';
import { Refusal } from '../refusals.ts';
import type { OwnQuota } from '../stores/key-store.ts';
import type { Head } from './check-request.ts';

/** Who calls. It carries an id, never the secret, so nothing after this stage can leak one. */
export interface Caller {
  readonly keyId: string;
  readonly plan: string;
  /** They take the place of the plan's quotas of the same names, and join the others. */
  readonly quotas: readonly OwnQuota[];
  /** Names of routes or patterns of paths; none = every route. */
  readonly scopes: readonly string[];
}

export interface KeyCheck {
  readonly keyring: KeyFinder;
  /** Notes that a secret was used. */
  readonly noteUse: (found: FoundKey, now: number) => void;
  /** Counts a key that is not valid against the client; says for how long it has tried too often, if it has. */
  readonly noteFailure: (client: string) => { readonly retryInSeconds: number } | undefined;
  readonly now: () => number;
}

const challenge = Object.freeze({ 'WWW-Authenticate': 'ApiKey realm="gatehouse"' });

/** Nothing of a request is in them, so each is made once: an error that is made anew was a tenth of what a refusal costs. */
const keyMissing = new Refusal('key_missing', { headers: challenge });
const keyInvalid = new Refusal('key_invalid', { headers: challenge });

/**
 * Head → Caller. 401 429 500.
 * All keys that are not valid get the very same answer, whether unknown, repeated, disabled, expired or used from
 * elsewhere; after too many it is 429 for these, never for a key that is in order. A store that fails is never "invalid key".
 * Answers at once for a key that is known here.
 */
export function authenticate(head: Head, client: string, by: KeyCheck): Caller | Promise<Caller> {
  if (head.key === undefined || (head.keyCount === 1 && head.key === '')) {
    throw keyMissing;
  }
  const found = head.keyCount === 1 ? by.keyring.find(head.key) : undefined;
  return found instanceof Promise ? waitFor(found, client, by) : welcome(found, client, by);
}

async function waitFor(asked: Promise<FoundKey | undefined>, client: string, by: KeyCheck): Promise<Caller> {
  let found: FoundKey | undefined;
  try {
    found = await asked;
  } catch (cause) {
    throw new Refusal('keys_unavailable', { cause });
  }
  return welcome(found, client, by);
}

function welcome(found: FoundKey | undefined, client: string, by: KeyCheck): Caller {
  const now = by.now();
  if (found === undefined || standingOf(found, now) !== 'good' || !allowsAddress(found, client)) {
    throw refuse(by.noteFailure(client));
  }
  by.noteUse(found, now);
  const { id, plan, quotas, scopes } = found;
  return { keyId: id, plan, quotas, scopes };
}

function refuse(tooMany: { readonly retryInSeconds: number } | undefined): Refusal {
  if (tooMany === undefined) return keyInvalid;
  return new Refusal('too_many_failures', { headers: { 'Retry-After': String(tooMany.retryInSeconds) } });
}
