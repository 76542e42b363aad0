import { isNetwork, notNetwork } from '../config/addresses.ts';
import { notInstant, parseInstant } from '../config/instants.ts';
import { nameCure } from '../config/name-pattern.ts';
import { isTimeZone } from '../config/period-words.ts';
import { isPeriodUnit, periodUnits } from '../config/plan-rule.ts';
import { quotaNameFault } from '../config/quota-names.ts';
import { pathFault } from '../config/route-path.ts';
import { nowhereElse } from '../config/weak-secret.ts';
import { suggest } from '../config/wording.ts';
import { isObject } from '../content/is-object.ts';
import { isPrintable } from '../content/printable.ts';
import type { OwnQuota } from '../stores/key-store.ts';
import { emptyFields, type KeyFields, type WrittenFields } from './key-fields.ts';
import { holdsSecret } from './key-format.ts';
import { isKeyId } from './key-id.ts';
import {
  isLongerThan,
  labelPattern,
  labelsMax,
  lineLengthMax,
  networksMax,
  quotasMax,
  scopesMax,
} from './key-limits.ts';
import { invalidField, invalidFields, type FieldFault } from './key-problem.ts';
import type { KeyRules } from './key-rules.ts';
import { isOfUse } from './scopes.ts';
import { createUnknownNames, isHarmless } from './unknown-names.ts';

interface ReadOptions {
  /** Further fields that may be written, which other code reads. */
  readonly besides?: readonly string[];
  /** Whether scopes are accepted that are of no use on any route. Default false. */
  readonly anyScope?: boolean;
  /** Whether unknown fields, and labels with a fault, are named. Default true. */
  readonly mayName?: boolean;
}

/**
 * Reads the written fields, and throws a `KeyProblem` with everything wrong in them. `null` empties a field. Instants are ISO 8601.
 * No message repeats a written value.
 */
export function readKeyFields(
  written: WrittenFields,
  rules: KeyRules,
  { besides = [], anyScope = false, mayName = true }: ReadOptions = {},
): Partial<KeyFields> {
  const faults: FieldFault[] = [];
  const fields: Record<string, unknown> = {};
  const readerRules = { ...rules, anyScope, mayName };
  let tellUnknown: ReturnType<typeof createUnknownNames> | undefined;
  for (const [field, value] of Object.entries(written)) {
    if (value === undefined) continue;
    const reader = Object.hasOwn(readers, field) ? readers[field as keyof KeyFields] : undefined;
    if (reader === undefined) {
      // Made only here: an import reads a million lines that have none.
      tellUnknown ??= createUnknownNames('field', [...besides, ...Object.keys(readers)], { mayName });
      faults.push(...tellUnknown(field));
    } else if (value === null && field in emptyFields && field !== 'enabled') {
      fields[field] = emptyFields[field as keyof typeof emptyFields];
    } else {
      const say: Say = (message, at = '') => {
        faults.push({ field: `${field}${at}`, message });
        return undefined;
      };
      fields[field] = reader(value, say, readerRules);
    }
  }
  if (faults.length > 0) throw invalidFields(faults);
  return fields;
}

/** The id chosen for a key, which must not be a secret. */
export function readKeyId(id: unknown): string {
  if (!isKeyId(id)) throw invalidField('id', `is not an id, ${nameCure}`);
  if (holdsSecret(id)) throw invalidField('id', secretFault);
  return id;
}

/** Notes what is wrong; then there is no value. */
type Say = (message: string, at?: string) => undefined;
type ReaderRules = KeyRules & { readonly anyScope: boolean; readonly mayName: boolean };
type Reader<T> = (value: unknown, say: Say, rules: ReaderRules) => T | undefined;

const readers: { readonly [Field in keyof KeyFields]: Reader<KeyFields[Field]> } = {
  name: readLine,
  owner: readLine,
  plan: readPlan,
  quotas: listOf(quotasMax, readQuota, ({ name }) => name),
  scopes: listOf(scopesMax, readScope),
  labels: readLabels,
  networks: listOf(networksMax, readNetwork),
  notBefore: readInstant,
  expiresAt: readInstant,
  enabled: (value, say) => (typeof value === 'boolean' ? value : say('is neither true nor false')),
};

const labelName = new RegExp(labelPattern);
const labelCure = 'use up to 63 letters, digits, ".", "_", "/" and "-", a letter or digit first';
const quotaFields = ['name', 'limit', 'per', 'timezone'];

function readLine(value: unknown, say: Say): string | undefined {
  return readText(value, say)?.trim();
}

/** With the blanks around it. */
function readText(value: unknown, say: Say): string | undefined {
  if (typeof value !== 'string') return say('is not text');
  if (!isPrintable(value)) return say('holds characters that cannot be seen');
  if (isLongerThan(value, lineLengthMax)) return say(`is longer than ${lineLengthMax} characters`);
  return holdsSecret(value) ? say(secretFault) : value;
}

/** As when columns are mixed up. Any other text is shown in lists, logs and headers. */
const secretFault = `holds a secret of a key, ${nowhereElse}`;

function readPlan(value: unknown, say: Say, { plans }: KeyRules): string | undefined {
  if (typeof value !== 'string') return say('is not text');
  if (plans.has(value)) return value;
  const names = [...plans.keys()];
  return say(
    names.length === 0 ? 'cannot be: there are no plans' : `is not among the plans${suggest(value, names)}`,
  );
}

function readScope(value: unknown, say: Say, { routes, anyScope }: ReaderRules): string | undefined {
  if (typeof value !== 'string') return say('is not text');
  if (value.startsWith('/')) {
    const fault = pathFault(value) ?? (holdsSecret(value) ? secretFault : undefined);
    if (fault !== undefined) return say(fault);
  }
  if (isOfUse(value, routes)) return value;
  if (anyScope) return value.trim() === '' ? say('is empty') : readLine(value, say);
  const names = routes.flatMap(({ name, path }) => [name, path]);
  return say(`is not among the routes${suggest(value, [...new Set(names)])}`);
}

function readNetwork(value: unknown, say: Say): string | undefined {
  if (typeof value === 'string' && isNetwork(value)) return value;
  return say(notNetwork);
}

function readInstant(value: unknown, say: Say): number | undefined {
  const at = typeof value === 'string' ? parseInstant(value) : undefined;
  if (at === undefined) return say(notInstant);
  return at > 0 ? at : say('must be after 1970-01-01');
}

function readLabels(
  value: unknown,
  say: Say,
  { mayName }: ReaderRules,
): Readonly<Record<string, string>> | undefined {
  if (!isObject(value)) return say('is not a mapping of names to texts');
  const labels = Object.entries(value);
  if (labels.length > labelsMax) return say(`has more than ${labelsMax} labels`);
  const texts: [name: string, text: string][] = [];
  for (const [name, text] of labels) {
    const tell: Say = (message) =>
      mayName && isHarmless(name) ? say(message, `.${name}`) : say(`has a value that ${message}`);
    if (!labelName.test(name)) say(`has a name that is none, ${labelCure}`);
    else if (holdsSecret(name)) say(`has a name that ${secretFault}`);
    else {
      const read = readText(text, tell);
      if (read !== undefined) texts.push([name, read]);
    }
  }
  return Object.fromEntries(texts);
}

function readQuota(value: unknown, say: Say): OwnQuota | undefined {
  if (!isObject(value)) return say('is not a mapping of name, limit, per and timezone');
  const { name, limit, per, timezone } = value;
  const unknown = Object.keys(value).some((field) => !quotaFields.includes(field));
  if (unknown) say(`has a field other than ${quotaFields.join(', ')}`);
  if (typeof name !== 'string') return say('is not text', '.name');
  const fault = quotaNameFault(name);
  if (fault !== undefined) return say(fault, '.name');
  if (typeof limit !== 'number' || !Number.isSafeInteger(limit) || limit < 1) {
    return say(`is not a whole number from 1 to ${Number.MAX_SAFE_INTEGER}`, '.limit');
  }
  if (per !== undefined && !isPeriodUnit(per)) {
    return say(`is not a period, choose from ${periodUnits.join(', ')}`, '.per');
  }
  if (
    timezone !== undefined &&
    !(typeof timezone === 'string' && per !== undefined && isTimeZone(timezone))
  ) {
    return say('is not a time zone of a period, write UTC or a name such as Europe/Berlin', '.timezone');
  }
  return { name, limit, per, timezone };
}

/** Reads a list of at most so many entries, no two of which may have the same text. */
function listOf<T>(
  most: number,
  read: Reader<T>,
  textOf: (item: T) => string = String,
): Reader<readonly T[]> {
  return (value, say, rules) => {
    if (!Array.isArray(value)) return say('is not a list');
    if (value.length > most) return say(`has more than ${most} entries`);
    const items = value.flatMap((item: unknown, index) => {
      const one = read(item, (message, at = '') => say(message, `[${index}]${at}`), rules);
      return one === undefined ? [] : [one];
    });
    if (new Set(items.map(textOf)).size < items.length) say('has an entry twice');
    return items;
  };
}
