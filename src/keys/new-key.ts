import { completeFields, type WrittenFields } from './key-fields.ts';
import { invalidField, KeyProblem, readTogether } from './key-problem.ts';
import type { KeyRules } from './key-rules.ts';
import { readKeyFields, readKeyId } from './read-key-fields.ts';

/** Reads a new key, as far as that needs no store, and throws a `KeyProblem` with what is wrong in it. */
export function readNewKey({ id, ...written }: WrittenFields, rules: KeyRules) {
  const [chosen, given] = readTogether(
    () => (id === undefined ? undefined : readId(id, rules)),
    () => readKeyFields(written, rules, { besides: ['id'] }),
  );
  return { id: chosen, fields: completeFields(given, given.plan ?? onlyPlan(rules), rules) };
}

/** Where there is only one plan, it need not be named. */
export function onlyPlan({ plans }: KeyRules): string {
  const names = [...plans.keys()];
  const [plan] = names;
  if (plan !== undefined && names.length === 1) return plan;
  throw invalidField(
    'plan',
    names.length === 0 ? 'cannot be: there are no plans' : `is needed, choose from ${names.join(', ')}`,
  );
}

function readId(chosen: unknown, rules: KeyRules): string {
  const id = readKeyId(chosen);
  // Usage is counted by id, so two keys of one id would share their quotas.
  if (rules.staticKeys.some((key) => key.id === id)) {
    throw new KeyProblem('conflict', 'a key of this id stands in the configuration file');
  }
  return id;
}
