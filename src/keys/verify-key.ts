import { hash } from 'node:crypto';
import type { RefusalCode } from '../refusals.ts';
import { foundIn, recordOf } from './found-key.ts';
import type { KeyTools } from './key-rules.ts';
import { viewStaticKey, viewKey, type KeyView } from './key-view.ts';
import { flawOf, type KeyFlaw } from './standing.ts';

/** What the gateway would say to a key, and the reason, which it would keep to itself. */
export interface Verdict {
  readonly valid: boolean;
  readonly reason: 'good' | KeyFlaw | 'missing' | 'mistyped' | 'unknown' | 'plan_unknown';
  readonly refusal: RefusalCode | null;
  readonly key: KeyView | null;
  /** Which of its secrets it is; null for a key of the configuration file, which has one only. */
  readonly secret: number | null;
}

/** Judges a secret as the gateway does, but always by what the store says now. */
export async function verifyKey(
  secret: string,
  client: string | undefined,
  { store, rules, now }: KeyTools,
): Promise<Verdict> {
  const refused = { valid: false, refusal: 'key_invalid', key: null, secret: null } as const;
  if (secret === '') return { ...refused, reason: 'missing', refusal: 'key_missing' };
  const digest = hash('sha256', secret);
  const staticKey = rules.staticKeys.find((key) => key.digest === digest);
  if (staticKey === undefined && rules.format.judge(secret) === 'mistyped') {
    return { ...refused, reason: 'mistyped' };
  }
  const record = staticKey === undefined ? await store.findKey(digest) : recordOf(staticKey);
  const found = foundIn(record, digest);
  if (record === undefined || found === undefined) return { ...refused, reason: 'unknown' };
  const reason = flawOf(found, client, now()) ?? (rules.plans.has(found.plan) ? 'good' : 'plan_unknown');
  const valid = reason === 'good';
  const refusal = reason === 'plan_unknown' ? reason : 'key_invalid';
  const verdict = { valid, reason, refusal: valid ? null : refusal } as const;
  if (staticKey !== undefined) return { ...verdict, key: viewStaticKey(record, now()), secret: null };
  const known = (await store.readKey(record.id)) ?? { record, usedAt: new Map() };
  return { ...verdict, key: viewKey(known, now()), secret: found.secretNumber };
}
