import { isContainer, isObject } from '../../content/is-object.ts';
import { childPointer } from '../json-pointer.ts';

/** One schema object inside a schema, and the JSON pointer to it. */
export interface Subschema {
  readonly schema: Readonly<Record<string, unknown>>;
  readonly pointer: string;
}

/** The schema itself and every schema object inside it, outermost first. Anything else is passed over. */
export function* subschemas(schema: unknown, pointer = ''): Generator<Subschema> {
  if (!isObject(schema)) return;
  yield { schema, pointer };
  for (const [keyword, value] of Object.entries(schema)) {
    const below = childPointer(pointer, keyword);
    if (single.has(keyword)) yield* subschemas(value, below);
    if (several.has(keyword)) yield* members(value, below);
  }
}

/** The field names that the schema itself gives. */
export function declaredFields(schema: unknown): ReadonlySet<string> {
  const fields = new Set<string>();
  for (const { schema: part } of subschemas(schema)) {
    for (const name of strings(part['required'])) fields.add(name);
    for (const keyword of ['properties', 'dependentRequired', 'dependentSchemas', 'dependencies']) {
      const value = part[keyword];
      if (!isObject(value)) continue;
      for (const [name, needed] of Object.entries(value)) {
        fields.add(name);
        for (const other of strings(needed)) fields.add(other);
      }
    }
  }
  return fields;
}

/** Whether a reference inside a schema of one piece leads to the whole of it. */
export function leadsToWhole(reference: unknown, schema: unknown): boolean {
  const anchors = isObject(schema) ? strings([schema['$anchor'], schema['$dynamicAnchor']]) : [];
  return ['', '/', ...anchors].some((anchor) => reference === `#${anchor}`);
}

function* members(value: unknown, pointer: string): Generator<Subschema> {
  if (!isContainer(value)) return;
  for (const [step, member] of Object.entries(value)) yield* subschemas(member, childPointer(pointer, step));
}

function strings(value: unknown): string[] {
  return Array.isArray(value) ? value.filter((item) => typeof item === 'string') : [];
}

/** Keywords whose value is a schema. */
const single = new Set([
  'additionalProperties',
  'contains',
  'contentSchema',
  'else',
  'if',
  'items',
  'not',
  'propertyNames',
  'then',
  'unevaluatedItems',
  'unevaluatedProperties',
]);

/** Keywords whose value holds schemas, in a list or under names that the author chose. */
const several = new Set([
  '$defs',
  'allOf',
  'anyOf',
  'definitions',
  'dependencies',
  'dependentSchemas',
  'oneOf',
  'patternProperties',
  'prefixItems',
  'properties',
]);
