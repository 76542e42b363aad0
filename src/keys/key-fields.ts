import type { PlanRule } from '../config/plan-rule.ts';
import { suggest } from '../config/wording.ts';
import type { KeyRecord, OwnQuota } from '../stores/key-store.ts';
import { invalidField, invalidFields } from './key-problem.ts';
import type { KeyRules } from './key-rules.ts';
import { differences } from './key-view.ts';

/** What people decide about a key. */
export type KeyFields = Omit<
  KeyRecord,
  'id' | 'version' | 'revokedAt' | 'createdAt' | 'secrets' | 'requests'
>;

/** What a new key has unless told otherwise. A plan must be given. */
export const emptyFields: Omit<KeyFields, 'plan'> = {
  name: '',
  owner: '',
  quotas: [],
  scopes: [],
  labels: {},
  networks: [],
  notBefore: undefined,
  expiresAt: undefined,
  enabled: true,
};

/** Fields as somebody wrote them: JSON, flags or a line of a file. */
export type WrittenFields = Readonly<Record<string, unknown>>;

/** All fields of a new key of this plan, of which some are given. Throws a `KeyProblem` where they do not fit together. */
export function completeFields(given: Partial<KeyFields>, plan: string, rules: KeyRules): KeyFields {
  const fields = { ...emptyFields, ...given, plan };
  checkSpan(fields);
  checkQuotas(fields, rules);
  return fields;
}

/**
 * The key with these fields in place of its own: the very same record when nothing differs. Throws a `KeyProblem` when fields that
 * are each valid do not fit the others of the key.
 */
export function amendKey(record: KeyRecord, fields: Partial<KeyFields>, rules: KeyRules): KeyRecord {
  const amended = { ...record, ...fields };
  if (Object.keys(differences(record, amended)).length === 0) return record;
  checkSpan(amended);
  // The plan may have lost a quota since, which must not prevent renaming the key.
  if (fields.plan !== undefined || fields.quotas !== undefined) checkQuotas(amended, rules);
  return amended;
}

/** Refuses a key that could never be valid. */
function checkSpan({ notBefore, expiresAt }: Pick<KeyFields, 'notBefore' | 'expiresAt'>): void {
  if (notBefore !== undefined && expiresAt !== undefined && notBefore >= expiresAt) {
    throw invalidField('expiresAt', 'must be after the moment from which the key is valid');
  }
}

/** Refuses quotas that would not do in the plan what was meant. */
function checkQuotas({ plan, quotas }: Pick<KeyFields, 'plan' | 'quotas'>, { plans }: KeyRules): void {
  const rule = plans.get(plan);
  if (rule === undefined) return;
  const faults = quotas.flatMap((quota, index) => {
    const message = quotaFault(quota, rule);
    return message === undefined ? [] : [{ field: `quotas[${index}]`, message }];
  });
  if (faults.length > 0) throw invalidFields(faults);
}

/** A key's quota without a period has that of the plan's quota of the same name, if there is one. */
export function lacksPeriod({ name, per }: Pick<OwnQuota, 'name' | 'per'>, { quotas }: PlanRule): boolean {
  return per === undefined && !quotas.some((quota) => quota.name === name);
}

function quotaFault({ name, per }: OwnQuota, plan: PlanRule): string | undefined {
  if (!lacksPeriod({ name, per }, plan)) return undefined;
  const names = plan.quotas.map((quota) => quota.name);
  return `"${name}" has no period, and the plan has no quota of this name${suggest(name, names)}`;
}
