import { listed } from '../config/wording.ts';
import { isLongerThan } from '../keys/key-limits.ts';
import { invalidField, invalidFields, type FieldFault } from '../keys/key-problem.ts';
import type { Schema } from '../keys/key-schema.ts';
import { createUnknownNames } from '../keys/unknown-names.ts';

/** Schemas by the names of fields: text, whole numbers, booleans, and lists of text. */
export type Fields = Readonly<Record<string, Schema>>;

/** What `readValues` makes of these fields. */
export type Values<F extends Fields> = { readonly [Name in keyof F]?: ValueOf<F[Name]> };

type ValueOf<S> = S extends { readonly type: 'string' }
  ? string
  : S extends { readonly type: 'integer' }
    ? number
    : S extends { readonly type: 'boolean' }
      ? boolean
      : S extends { readonly type: 'array' }
        ? readonly string[]
        : unknown;

interface ReadOptions {
  readonly required?: readonly string[];
  /** What an unknown field is called in the sentence about it. */
  readonly kind: 'field' | 'parameter';
}

/** Checks values by the schemas that the document shows, and throws a `KeyProblem` with everything wrong in them. */
export function readValues<F extends Fields>(
  fields: F,
  written: Readonly<Record<string, unknown>>,
  { required = [], kind }: ReadOptions,
): Values<F> {
  const faults: FieldFault[] = [];
  const tellUnknown = createUnknownNames(kind, Object.keys(fields));
  for (const name of required) {
    if (!Object.hasOwn(written, name)) faults.push({ field: name, message: 'is missing' });
  }
  for (const [name, value] of Object.entries(written)) {
    const schema = schemaOf(name, fields);
    const message = schema && faultOf(value, schema);
    if (schema === undefined) faults.push(...tellUnknown(name));
    else if (message !== undefined) faults.push({ field: name, message });
  }
  if (faults.length > 0) throw invalidFields(faults);
  return written as Values<F>;
}

/** Query → values as JSON would have them. Any other word stays as it is, for `readValues` to refuse. */
export function readQuery(query: string, fields: Fields): Readonly<Record<string, unknown>> {
  const given = Map.groupBy(new URLSearchParams(query), ([name]) => name);
  const entries = given.entries().map(([name, pairs]) => {
    const schema = schemaOf(name, fields);
    const [word = '', ...others] = pairs.map(([, value]) => value);
    if (schema?.['type'] === 'array') return [name, [word, ...others]];
    if (schema !== undefined && others.length > 0) {
      throw invalidField(name, 'is given twice');
    }
    return [name, readWord(word, schema)];
  });
  return Object.fromEntries(entries) as Readonly<Record<string, unknown>>;
}

/** Undefined for a name that is none of the fields. */
function schemaOf(name: string, fields: Fields): Schema | undefined {
  return Object.hasOwn(fields, name) ? fields[name] : undefined;
}

function readWord(word: string, schema: Schema | undefined): unknown {
  if (schema?.['type'] === 'boolean') return word === 'true' ? true : word === 'false' ? false : word;
  return schema?.['type'] === 'integer' && /^\d{1,15}$/.test(word) ? Number(word) : word;
}

function faultOf(value: unknown, schema: Schema): string | undefined {
  if (schema['type'] === 'boolean')
    return typeof value === 'boolean' ? undefined : 'is neither true nor false';
  if (schema['type'] === 'integer') return integerFault(value, schema);
  if (schema['type'] === 'string') return textFault(value, schema);
  if (!Array.isArray(value)) return 'is not a list';
  const most = Number(schema['maxItems'] ?? Infinity);
  if (value.length > most) return `has more than ${most} entries`;
  const faults = value.map((item) => textFault(item, (schema['items'] ?? {}) as Schema));
  return faults.find((fault) => fault !== undefined);
}

function integerFault(value: unknown, { minimum = 0, maximum = Number.MAX_SAFE_INTEGER }: Schema) {
  const [least, most] = [Number(minimum), Number(maximum)];
  if (typeof value === 'number' && Number.isInteger(value) && value >= least && value <= most)
    return undefined;
  return `is not a whole number from ${least} to ${most}`;
}

function textFault(value: unknown, { maxLength = Infinity, pattern, examples }: Schema): string | undefined {
  if (typeof value !== 'string') return 'is not text';
  if (isLongerThan(value, Number(maxLength))) return `is longer than ${String(maxLength)} characters`;
  if (typeof pattern !== 'string' || new RegExp(pattern, 'u').test(value)) return undefined;
  // A regular expression would tell people nothing.
  return `must be written like ${listed('or', [examples].flat().map(String))}`;
}
