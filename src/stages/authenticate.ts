import type { FoundKey } from '../keys/found-key.ts';
import type { FindKey } from '../keys/keyring.ts';
import { flawOf, type KeyFlaw } from '../keys/standing.ts';
import { Refusal } from '../refusals.ts';
import type { Visit } from '../visit.ts';
import type { Head } from './check-request.ts';

/** Who calls. It carries an id, never the secret, so nothing after this stage can leak one. */
export interface Caller extends Pick<FoundKey, 'plan' | 'quotas' | 'scopes' | 'ownerHeader'> {
  readonly keyId: string;
}

export interface KeyCheck {
  readonly findKey: FindKey;
  /** Notes that a secret was used. */
  readonly noteUse: (found: FoundKey, now: number) => void;
  /** Counts a key that is not valid against the client; says for how long it has tried too often, if it has. */
  readonly noteFailure: (client: string) => { readonly retryInSeconds: number } | undefined;
  readonly now: () => number;
  readonly refusals: KeyRefusals;
  /** How the configuration writes the headers of the key, by their names in lower case; undefined where there is one alone. */
  readonly headerNames: ReadonlyMap<string, string> | undefined;
}

/** Why a key is not let in, in the words of `keys verify`, which cannot be given two keys at once. */
type WhyNotLetIn = KeyFlaw | 'unknown' | 'mistyped' | 'given_twice';

/** Where a request comes from, and what the log alone is told of its key. */
type KeyVisit = Pick<Visit, 'origin' | 'keyHeader' | 'keyProblem' | 'refusedKeyId'>;

/** Nothing of a request is in them, so each is made once: an error that is made anew was a tenth of what a refusal costs. */
interface KeyRefusals {
  readonly missing: Refusal;
  readonly invalid: Refusal;
}

/** The refusals of a gateway that is to be shown its keys under this scheme. */
export function createKeyRefusals(scheme: 'ApiKey' | 'Bearer'): KeyRefusals {
  const headers = Object.freeze({ 'WWW-Authenticate': `${scheme} realm="gatehouse"` });
  return {
    missing: new Refusal('key_missing', { headers }),
    invalid: new Refusal('key_invalid', { headers }),
  };
}

/**
 * Head → Caller. 401 429 500.
 * All keys that are not valid get the very same answer, whether unknown, repeated, disabled, expired or used from elsewhere; after
 * too many it is 429 for these, never for a key that is in order. A store that fails is never "invalid key". Answers at once for a
 * key that is known here.
 */
export function authenticate(head: Head, visit: KeyVisit, by: KeyCheck): Caller | Promise<Caller> {
  if (head.keyCount > 1) throw refuse('given_twice', visit, by);
  if (head.key === undefined || head.key === '') throw by.refusals.missing;
  if (by.headerNames !== undefined) visit.keyHeader = by.headerNames.get(head.keyHeader);
  const found = by.findKey(head.key);
  return found instanceof Promise ? waitFor(found, visit, by) : welcome(found, visit, by);
}

async function waitFor(asked: Promise<FoundKey | undefined>, visit: KeyVisit, by: KeyCheck): Promise<Caller> {
  let found: FoundKey | undefined;
  try {
    found = await asked;
  } catch (cause) {
    throw new Refusal('keys_unavailable', { cause });
  }
  return welcome(found, visit, by);
}

function welcome(found: FoundKey | 'mistyped' | undefined, visit: KeyVisit, by: KeyCheck): Caller {
  if (typeof found !== 'object') throw refuse(found ?? 'unknown', visit, by);
  const now = by.now();
  const flaw = flawOf(found, visit.origin.client, now);
  if (flaw !== undefined) {
    visit.refusedKeyId = found.id;
    throw refuse(flaw, visit, by);
  }
  by.noteUse(found, now);
  const { id, plan, quotas, scopes, ownerHeader } = found;
  return { keyId: id, plan, quotas, scopes, ownerHeader };
}

function refuse(why: WhyNotLetIn, visit: KeyVisit, by: KeyCheck): Refusal {
  visit.keyProblem = why;
  const tooMany = by.noteFailure(visit.origin.client);
  if (tooMany === undefined) return by.refusals.invalid;
  return new Refusal('too_many_failures', { headers: { 'Retry-After': String(tooMany.retryInSeconds) } });
}
