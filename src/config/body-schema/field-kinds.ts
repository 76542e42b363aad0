import { isObject } from '../../content/is-object.ts';

/** What a schema takes a text field for: one value, a list of any length, or either. */
export type FieldKind = 'text' | 'list' | 'either' | 'neither';

/**
 * What the schema of a form takes each of its properties for, by its `type`. One without a type is a text: rules for texts
 * (`maxLength`, `pattern`) let any list pass, so a field sent twice would get past them.
 */
export function readFieldKinds(schema: object): ReadonlyMap<string, FieldKind> {
  const { properties } = schema as { readonly properties?: unknown };
  if (!isObject(properties)) return new Map();
  return new Map(Object.entries(properties).map(([name, property]) => [name, kindOf(property)]));
}

function kindOf(property: unknown): FieldKind {
  const type = isObject(property) ? property['type'] : undefined;
  if (type === undefined) return 'text';
  const types = [type].flat();
  if (!types.includes('array')) return types.includes('string') ? 'text' : 'neither';
  return types.includes('string') ? 'either' : 'list';
}
