import { _, type Ajv2020, type Code, type CodeKeywordDefinition, type KeywordCxt } from 'ajv/dist/2020.js';
import { compileSchema, resolveRef, SchemaEnv } from 'ajv/dist/compile/index.js';
import { Type } from 'ajv/dist/compile/util.js';
import { isObject } from '../../content/is-object.ts';
import { leadsToWhole } from './subschemas.ts';

/**
 * `unevaluatedProperties` and `unevaluatedItems` as JSON Schema 2020-12 has them. When they are checked, everything beside them has
 * passed, so what the rest has evaluated is collected then, by the parts of the schema that the value fits.
 *
 * Ajv counts while it checks instead, in variables of branches that may not be taken: a check then threw, or took the count of the
 * previous value in a list. It also counts for schemas without these keywords, and every item where there is a `contains`. The
 * schema must be of one piece, without an `$id` inside (record 46).
 */
export function collectEvaluated(ajv: Ajv2020): void {
  ajv.opts.unevaluated = false;
  const known: Scope['known'] = new Map();
  const collect = ({ gen, data, it, parentSchema }: KeywordCxt): Code => {
    const part = partOf(parentSchema, { ajv, known, root: it.schemaEnv.root, baseId: it.baseId });
    return _`${gen.scopeValue('func', { ref: (value: object) => marksOf(part, value) })}(${data})`;
  };
  const properties = ajv.getKeyword('unevaluatedProperties') as CodeKeywordDefinition;
  const code: CodeKeywordDefinition['code'] = (context) => {
    // Where Ajv looks for its own count.
    context.it.props = context.gen.const('props', collect(context));
    properties.code(context);
  };
  ajv.removeKeyword('unevaluatedProperties').addKeyword({ ...properties, code });
  ajv.removeKeyword('unevaluatedItems').addKeyword(unevaluatedItems(collect));
}

function unevaluatedItems(collect: (context: KeywordCxt) => Code): CodeKeywordDefinition {
  return {
    keyword: 'unevaluatedItems',
    type: 'array',
    schemaType: ['boolean', 'object'],
    code(context) {
      const { gen, data, keyword } = context;
      const items = gen.const('items', collect(context));
      const valid = gen.var('valid', true);
      gen.forRange('i', 0, _`${data}.length`, (i) => {
        gen.if(_`!${items}[${i}]`, () => {
          context.subschema({ keyword, dataProp: i, dataPropType: Type.Num }, valid);
          gen.if(_`!${valid}`, () => gen.break());
        });
      });
      context.ok(valid);
    },
  };
}

/** The names or places in a value that were evaluated. */
type Marks = Record<string, true>;

/** Adds what one keyword, or one schema, evaluates in a value that fits it. */
type Marker = (value: object, marks: Marks) => void;

interface Part {
  /** What all its keywords mark, except the two that ask for the marks. */
  readonly markers: Marker[];
  /**
   * Kept, as a JSON value never changes: where a schema refers to itself, its parts would otherwise be checked twice for each level
   * of a body, doubling every time.
   */
  readonly marks: WeakMap<object, Marks>;
}

interface Scope {
  readonly ajv: Ajv2020;
  readonly root: SchemaEnv;
  readonly baseId: string;
  readonly known: Map<object, Part>;
}

type Schema = Readonly<Record<string, unknown>>;

function partOf(schema: Schema, scope: Scope): Part {
  const known = scope.known.get(schema);
  if (known) return known;
  const part: Part = { markers: [], marks: new WeakMap() };
  // Known before it is complete: a schema may refer to itself.
  scope.known.set(schema, part);
  part.markers.push(...markersIn(schema, scope));
  return part;
}

function marksOf({ markers, marks: done }: Part, value: object): Marks {
  const known = done.get(value);
  if (known) return known;
  // Without a prototype, in which names like "constructor" would be found.
  const marks = Object.create(null) as Marks;
  for (const mark of markers) mark(value, marks);
  done.set(value, marks);
  return marks;
}

function* markersIn(schema: Schema, scope: Scope): Iterable<Marker> {
  yield markerOfChildren(schema);
  if (schema['contains'] !== undefined) yield markerOfMatches(schema['contains'], scope);
  for (const keyword of ['$ref', '$dynamicRef']) {
    const reference = schema[keyword];
    if (typeof reference === 'string') yield markerOf(targetOf(reference, scope), scope);
  }
  for (const each of listOf(schema['allOf'])) yield markerOf(each, scope);
  for (const keyword of ['anyOf', 'oneOf']) {
    for (const each of listOf(schema[keyword])) yield markerIfFits(scope, each, each);
  }
  if (schema['if'] !== undefined) {
    yield markerIfFits(
      scope,
      schema['if'],
      { allOf: [schema['if'], schema['then'] ?? true] },
      schema['else'],
    );
  }
  for (const keyword of ['dependentSchemas', 'dependencies']) {
    const dependents = schema[keyword];
    if (!isObject(dependents)) continue;
    for (const [name, each] of Object.entries(dependents)) {
      const mark = markerOf(each, scope);
      yield (value, marks) => {
        if (!Array.isArray(value) && Object.hasOwn(value, name)) mark(value, marks);
      };
    }
  }
}

function markerOfChildren(schema: Schema): Marker {
  const { properties, patternProperties, additionalProperties, items, prefixItems } = schema;
  const names = new Set(isObject(properties) ? Object.keys(properties) : []);
  const patterns = isObject(patternProperties) ? Object.keys(patternProperties) : [];
  const expressions = patterns.map((pattern) => RegExp(pattern, 'u'));
  const first = listOf(prefixItems).length;
  const isField = (key: string): boolean =>
    additionalProperties !== undefined || names.has(key) || expressions.some((each) => each.test(key));
  const isItem = (key: string): boolean => items !== undefined || Number(key) < first;
  return (value, marks) => {
    const isEvaluated = Array.isArray(value) ? isItem : isField;
    for (const key of Object.keys(value)) if (isEvaluated(key)) marks[key] = true;
  };
}

function markerOf(schema: unknown, scope: Scope): Marker {
  if (!isObject(schema)) return () => undefined;
  const part = partOf(schema, scope);
  return (value, marks) => {
    const keyword = Array.isArray(value) ? 'unevaluatedItems' : 'unevaluatedProperties';
    const isClosed = schema[keyword] !== undefined;
    for (const key of Object.keys(isClosed ? value : marksOf(part, value))) marks[key] = true;
  };
}

function markerIfFits(scope: Scope, condition: unknown, then: unknown, otherwise?: unknown): Marker {
  const fits = checkOf(condition, scope);
  const mark = markerOf(then, scope);
  const markOtherwise = markerOf(otherwise, scope);
  return (value, marks) => (fits(value) ? mark : markOtherwise)(value, marks);
}

function markerOfMatches(wanted: unknown, scope: Scope): Marker {
  const fits = checkOf(wanted, scope);
  return (value, marks) => {
    if (!Array.isArray(value)) return;
    for (const [at, item] of value.entries()) if (fits(item)) marks[at] = true;
  };
}

function checkOf(schema: unknown, { ajv, root, baseId }: Scope): (value: unknown) => boolean {
  if (!isObject(schema)) return () => schema === true;
  const compiled = compileSchema.call(ajv, new SchemaEnv({ schema, root, baseId }));
  // It may still be compiling, further up, until the whole schema is.
  return (value) => compiled.validate?.(value) === true;
}

function targetOf(reference: string, { ajv, root, baseId }: Scope): unknown {
  if (leadsToWhole(reference, root.schema)) return root.schema;
  const target = resolveRef.call(ajv, root, baseId, reference);
  return target instanceof SchemaEnv ? target.schema : target;
}

function listOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}
