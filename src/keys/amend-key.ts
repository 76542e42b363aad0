import type { KeyRecord } from '../stores/key-store.ts';
import { checkQuotas, checkSpan, type KeyFields } from './key-fields.ts';
import type { KeyRules } from './key-rules.ts';
import { differences } from './key-view.ts';

/**
 * The key with these fields in place of its own: the very same record when nothing differs. Throws a `KeyProblem` when fields
 * that are each valid do not fit the others of the key.
 */
export function amendKey(record: KeyRecord, fields: Partial<KeyFields>, rules: KeyRules): KeyRecord {
  const amended = { ...record, ...fields };
  if (Object.keys(differences(record, amended)).length === 0) return record;
  checkSpan(amended);
  // The plan may have lost a quota since, which must not prevent renaming the key.
  if (fields.plan !== undefined || fields.quotas !== undefined) checkQuotas(amended, rules);
  return amended;
}
