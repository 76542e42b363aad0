import { writeInstant } from '../config/instants.ts';
import type { PlanRule } from '../config/plan-rule.ts';
import type { KeyRecord, OwnQuota } from '../stores/key-store.ts';
import { lacksPeriod } from './key-fields.ts';
import type { KeyRules } from './key-rules.ts';
import { liveSecrets } from './secrets.ts';

/** A key as a line of an import, its secret as a digest. */
export interface ExportedKey {
  readonly line: Readonly<Record<string, unknown>>;
  /** Secrets that work beside the newest are left out, because a line has only one. */
  readonly leavesSecrets: boolean;
}

/**
 * The line that recreates a key in another store, or changes it there to be as it is here: what the key does not have is said as well.
 * Undefined for one that was revoked or whose last secret has expired.
 */
export function exportKey(
  record: KeyRecord,
  { plans, now }: Pick<KeyRules, 'plans'> & { readonly now: number },
): ExportedKey | undefined {
  const live = liveSecrets(record.secrets, now);
  const newest = live.at(-1);
  if (record.revokedAt !== undefined || newest === undefined) return undefined;
  const { id, name, owner, plan, quotas, scopes, labels, networks, notBefore, expiresAt, enabled } = record;
  const line = {
    id,
    hash: `sha256:${newest.digest}`,
    plan,
    name,
    owner,
    quotas: withPeriods(quotas, plans.get(plan)),
    scopes,
    labels,
    networks,
    notBefore: writeInstant(notBefore),
    expiresAt: writeInstant(expiresAt),
    enabled,
  };
  return { line, leavesSecrets: live.length > 1 };
}

/** A quota whose plan has lost its period counts for a lifetime. An import would not guess that, so it is written. */
function withPeriods(quotas: readonly OwnQuota[], plan: PlanRule | undefined): readonly OwnQuota[] {
  if (plan === undefined) return quotas;
  return quotas.map((quota) => (lacksPeriod(quota, plan) ? { ...quota, per: 'lifetime' } : quota));
}
