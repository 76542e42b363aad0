import type { AnySchemaObject, ErrorObject } from 'ajv/dist/2020.js';
import { isContainer, isObject } from '../../content/is-object.ts';
import { childPointer, isAtOrBelow, stepsOf } from '../json-pointer.ts';
import { showName, showText, slipIn, suggest, suggestNear } from '../wording.ts';
import { ruleOf } from './describe-errors.ts';
import { createAjv, isNote } from './json-schema.ts';
import { referenceProblems } from './references.ts';
import { SchemaProblems, type SchemaProblem } from './schema-problem.ts';
import { subschemas, type Subschema } from './subschemas.ts';

/** Returns the schema if it is well formed by JSON Schema 2020-12, or throws `SchemaProblems` with all faults. */
export function checkSchema(schema: AnySchemaObject): AnySchemaObject {
  const parts = [...subschemas(schema)];
  const isInPieces = parts.some(({ schema: part, pointer }) => pointer !== '' && '$id' in part);
  const partProblems = parts.flatMap((part) => [
    ...(isInPieces ? pieceProblems(part) : []),
    ...keywordProblems(part),
    ...companyProblems(part),
    ...dialectProblems(part),
    ...typeProblems(part),
    ...nullableProblems(part),
    ...choiceProblems(part),
    ...boundProblems(part),
    ...requiredProblems(part),
    ...emptyNameProblems(part),
    ...patternProblems(part),
    ...formatProblems(part),
  ]);
  const references = referenceProblems(parts).filter(
    (other) => !partProblems.some(({ pointer }) => pointer === other.pointer),
  );
  const problems = [...partProblems, ...references];
  // The meta-schema also finds what has its own sentence above.
  const others = valueProblems(schema).filter(
    (other) => !problems.some(({ pointer }) => isAtOrBelow(pointer, other.pointer)),
  );
  if (problems.length + others.length > 0) throw new SchemaProblems([...problems, ...others]);
  return schema;
}

function* keywordProblems({ schema, pointer }: Subschema): Iterable<SchemaProblem> {
  for (const keyword of Object.keys(schema)) {
    if (keywords.has(keyword) || isNote(keyword)) continue;
    const slip = slipIn(keyword, schema[keyword]);
    const cure = slip === undefined ? suggestNear(keyword, [...keywords]) : `, ${slip}`;
    const message = `unknown keyword ${showName(keyword)}${cure}`;
    yield { pointer: childPointer(pointer, keyword), message };
  }
}

function* companyProblems({ schema, pointer }: Subschema): Iterable<SchemaProblem> {
  for (const [keyword, others] of companions) {
    if (!Object.hasOwn(schema, keyword) || others.some((other) => Object.hasOwn(schema, other))) continue;
    const message = `"${keyword}" means nothing without "${others.join('" or "')}" beside it`;
    yield { pointer: childPointer(pointer, keyword), message };
  }
}

function* dialectProblems({ schema, pointer }: Subschema): Iterable<SchemaProblem> {
  const dialect = schema['$schema'];
  if (dialect === undefined || dialect === dialect2020 || dialect === `${dialect2020}#`) return;
  const message = `only JSON Schema 2020-12 is understood: "${dialect2020}"`;
  yield { pointer: childPointer(pointer, '$schema'), message };
}

/** Where pieces have their own names, the meaning depends on how a check came there. */
function* pieceProblems({ schema, pointer }: Subschema): Iterable<SchemaProblem> {
  for (const [keyword, cure] of onePieceOnly) {
    if (!(keyword in schema)) continue;
    const message = `"${keyword}" is not understood in a schema with an "$id" inside: ${cure}`;
    yield { pointer: childPointer(pointer, keyword), message };
  }
}

function* typeProblems({ schema, pointer }: Subschema): Iterable<SchemaProblem> {
  if (!Object.hasOwn(schema, 'type')) return;
  const at = childPointer(pointer, 'type');
  for (const [index, type] of [schema['type']].flat().entries()) {
    if (typeof type === 'string' && types.has(type)) continue;
    const place = Array.isArray(schema['type']) ? childPointer(at, String(index)) : at;
    yield { pointer: place, message: typeof type === 'string' ? unknownType(type) : noType };
  }
}

function unknownType(type: string): string {
  return `unknown type ${showText(type)}${suggest(type, [...types])}`;
}

/** Only the compiler knows the keyword, which is of OpenAPI, and it does not say where. */
function* nullableProblems({ schema, pointer }: Subschema): Iterable<SchemaProblem> {
  if (!Object.hasOwn(schema, 'nullable') || typeof schema['nullable'] === 'boolean') return;
  yield { pointer: childPointer(pointer, 'nullable'), message: '"nullable" must be true or false' };
}

function* choiceProblems({ schema, pointer }: Subschema): Iterable<SchemaProblem> {
  const { const: only, enum: values } = schema;
  if (isTextLost(only, schema)) yield { pointer: childPointer(pointer, 'const'), message: lostText };
  if (!Array.isArray(values)) return;
  const at = childPointer(pointer, 'enum');
  if (values.length === 0) yield { pointer: at, message: '"enum" is empty, so nothing would fit' };
  for (const [index, value] of values.entries()) {
    if (isTextLost(value, schema)) yield { pointer: childPointer(at, String(index)), message: lostText };
  }
}

/** Whether YAML took a value for something else than the text that was meant. */
function isTextLost(value: unknown, { type }: Subschema['schema']): boolean {
  const [kind, ...others] = [type].flat().filter((one) => one !== 'null');
  const isText = kind === 'string' && others.length === 0;
  return isText && (typeof value === 'number' || typeof value === 'boolean');
}

const lostText = 'this is not text, so "type" refuses it: put it in quotes';

function* boundProblems({ schema, pointer }: Subschema): Iterable<SchemaProblem> {
  for (const [least, most] of bounds) {
    const [low, high] = [schema[least], schema[most]];
    if (typeof low !== 'number' || typeof high !== 'number' || low <= high) continue;
    yield { pointer: childPointer(pointer, least), message: `"${least}" is more than "${most}"` };
  }
  const { contains, minContains, maxContains } = schema;
  if (contains === undefined || minContains !== undefined || maxContains !== 0) return;
  const message = '"maxContains" is less than "minContains", which is 1 where it is not given';
  yield { pointer: childPointer(pointer, 'maxContains'), message };
}

/** What must be there must be allowed there. */
function* requiredProblems({ schema, pointer }: Subschema): Iterable<SchemaProblem> {
  const { additionalProperties, patternProperties, properties = {}, required } = schema;
  if (patternProperties !== undefined || !isObject(properties) || !Array.isArray(required)) return;
  for (const [index, name] of required.entries()) {
    if (typeof name !== 'string' || Object.hasOwn(properties, name)) continue;
    const place = childPointer(childPointer(pointer, 'required'), String(index));
    if (lacksComma(name, properties)) {
      yield { pointer: place, message: 'a comma is missing between two names' };
    } else if (additionalProperties === false) {
      const message = `"additionalProperties" refuses ${showName(name)}, so every object is refused`;
      yield { pointer: place, message: message + suggestNear(name, Object.keys(properties)) };
    }
  }
}

/** To the compiler a name that is missing and empty is none, so nothing would be asked for. */
function* emptyNameProblems({ schema, pointer }: Subschema): Iterable<SchemaProblem> {
  for (const keyword of ['required', 'dependentRequired', 'dependencies']) {
    const needed = schema[keyword];
    if (isContainer(needed) && Object.values(needed).flat().includes(''))
      yield {
        pointer: childPointer(pointer, keyword),
        message: 'a field without a name cannot be asked for',
      };
  }
}

/** As in `[firstName lastName]`, which YAML takes for one name. */
function lacksComma(name: string, properties: object): boolean {
  return name.includes(' ') && name.split(' ').every((part) => Object.hasOwn(properties, part));
}

function* patternProblems({ schema, pointer }: Subschema): Iterable<SchemaProblem> {
  const { pattern, patternProperties } = schema;
  if (typeof pattern === 'string') yield* expressionProblems(pattern, childPointer(pointer, 'pattern'));
  if (!isObject(patternProperties)) return;
  const below = childPointer(pointer, 'patternProperties');
  for (const key of Object.keys(patternProperties)) yield* expressionProblems(key, childPointer(below, key));
}

/**
 * What YAML makes of `"\b"`, which would be looked for by the letter. Of all sequences that are known to both, only this one means
 * something else to an expression, and within [] it does not.
 */
const backspace = '\b';
const classes = /\\.|\[(?:\\.|[^\]\\])*\]?/gsu;

function* expressionProblems(pattern: string, pointer: string): Iterable<SchemaProblem> {
  if (pattern.includes(backspace) && pattern.replace(classes, '').includes(backspace))
    yield { pointer, message: 'a backslash is no longer there: put the expression in single quotes' };
  try {
    RegExp(pattern, 'u');
  } catch (error) {
    // The engine says "Invalid regular expression: /(/u: Unterminated group"; the last part is the news.
    const reason = error instanceof Error ? error.message.slice(error.message.lastIndexOf(': ') + 2) : '';
    yield { pointer, message: `${showText(pattern)} is not a regular expression: ${reason.toLowerCase()}` };
  }
}

function* formatProblems({ schema, pointer }: Subschema): Iterable<SchemaProblem> {
  const { format } = schema;
  if (typeof format !== 'string' || formats.has(format)) return;
  const message = `unknown format ${showText(format)}${suggestNear(format, [...formats])}`;
  yield { pointer: childPointer(pointer, 'format'), message };
}

function valueProblems(schema: AnySchemaObject): readonly SchemaProblem[] {
  if (metaAjv.validate(dialect2020, schema)) return [];
  // The deepest error is the most exact, and one for each place is enough.
  const exact: ErrorObject[] = [];
  for (const error of metaAjv.errors?.toSorted(byDepth) ?? []) {
    if (!exact.some(({ instancePath }) => isAtOrBelow(instancePath, error.instancePath))) exact.push(error);
  }
  return exact.map((error) => {
    const keyword = stepsOf(error.instancePath).at(-1) ?? '';
    const subject = keyword === '' ? 'a schema' : `"${keyword}"`;
    return { pointer: error.instancePath, message: `${subject} ${ruleOf(error)}` };
  });
}

function byDepth(a: ErrorObject, b: ErrorObject): number {
  return b.instancePath.split('/').length - a.instancePath.split('/').length;
}

const metaAjv = createAjv({ meta: true });
const dialect2020 = 'https://json-schema.org/draft/2020-12/schema';
const formats: ReadonlySet<string> = new Set(Object.keys(metaAjv.formats));
const types: ReadonlySet<string> = new Set([
  'array',
  'boolean',
  'integer',
  'null',
  'number',
  'object',
  'string',
]);
/** YAML reads a null without quotes as nothing at all. */
const noType = `a type is one of ${[...types].join(', ').replace('null', '"null" (in quotes)')}`;
// `$async` would make a check return a promise, which is truthy and so would let every body pass. The others come from older
// drafts, or none, and would be ignored or refused without saying where.
const foreign = new Set([
  '$async',
  'id',
  '$recursiveRef',
  '$recursiveAnchor',
  'formatMaximum',
  'formatMinimum',
  'formatExclusiveMaximum',
  'formatExclusiveMinimum',
]);
const keywords: ReadonlySet<string> = new Set(Object.keys(metaAjv.RULES.keywords)).difference(foreign);
/** Keywords for schemas without an `$id` inside, and the cure. */
const onePieceOnly: ReadonlyMap<string, string> = new Map([
  ['$dynamicRef', 'write a "$ref"'],
  ['unevaluatedProperties', 'leave the "$id" out'],
  ['unevaluatedItems', 'leave the "$id" out'],
]);
/** Keywords of which the second may not be less. */
const bounds = [
  ['minimum', 'maximum'],
  ['minimum', 'exclusiveMaximum'],
  ['exclusiveMinimum', 'maximum'],
  ['exclusiveMinimum', 'exclusiveMaximum'],
  ['minLength', 'maxLength'],
  ['minItems', 'maxItems'],
  ['minContains', 'maxContains'],
  ['minProperties', 'maxProperties'],
] as const;
/** Keywords that need another beside them. */
const companions: ReadonlyMap<string, readonly string[]> = new Map([
  ['if', ['then', 'else']],
  ['then', ['if']],
  ['else', ['if']],
  ['minContains', ['contains']],
  ['maxContains', ['contains']],
  ['nullable', ['type']],
]);
