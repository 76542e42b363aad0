import type { AnySchema, ErrorObject } from 'ajv/dist/2020.js';
import { closest, distance } from 'fastest-levenshtein';
import { ruleOf } from './describe-errors.ts';
import { createAjv } from './json-schema.ts';
import { SchemaProblem } from './schema-problem.ts';
import type { Subschema } from './subschemas.ts';
import { childPointer, isObject, subschemas } from './subschemas.ts';

/** Returns the value as a schema that is well formed by JSON Schema 2020-12, or throws the first `SchemaProblem`. */
export function checkSchema(schema: unknown): AnySchema {
  if (typeof schema === 'boolean') return schema;
  if (!isObject(schema)) throw new SchemaProblem('', 'a schema must be an object');
  for (const part of subschemas(schema)) {
    checkKeywords(part);
    checkDialect(part);
    checkType(part);
    checkPatterns(part);
    checkFormat(part);
  }
  checkValues(schema);
  return schema;
}

function checkKeywords({ schema, pointer }: Subschema): void {
  for (const keyword of Object.keys(schema)) {
    if (keywords.has(keyword)) continue;
    const hint = didYouMean(keyword, keywords);
    throw new SchemaProblem(childPointer(pointer, keyword), `unknown keyword "${keyword}"${hint}`);
  }
}

function checkDialect({ schema, pointer }: Subschema): void {
  const dialect = schema['$schema'];
  if (dialect === undefined || dialect === dialect2020 || dialect === `${dialect2020}#`) return;
  throw new SchemaProblem(
    childPointer(pointer, '$schema'),
    `only JSON Schema 2020-12 is understood: "${dialect2020}"`,
  );
}

function checkType({ schema, pointer }: Subschema): void {
  for (const type of [schema['type']].flat()) {
    if (typeof type !== 'string' || types.has(type)) continue;
    const hint = didYouMean(type, types);
    throw new SchemaProblem(childPointer(pointer, 'type'), `unknown type "${type}"${hint}`);
  }
}

function checkPatterns({ schema, pointer }: Subschema): void {
  const { pattern, patternProperties } = schema;
  if (typeof pattern === 'string') checkPattern(pattern, childPointer(pointer, 'pattern'));
  if (!isObject(patternProperties)) return;
  const below = childPointer(pointer, 'patternProperties');
  for (const key of Object.keys(patternProperties)) checkPattern(key, childPointer(below, key));
}

function checkPattern(pattern: string, pointer: string): void {
  try {
    RegExp(pattern, 'u');
  } catch (error) {
    // The engine says "Invalid regular expression: /(/u: Unterminated group"; the last part is the news.
    const reason = error instanceof Error ? error.message.slice(error.message.lastIndexOf(': ') + 2) : '';
    throw new SchemaProblem(pointer, `"${pattern}" is not a regular expression: ${reason.toLowerCase()}`);
  }
}

function checkFormat({ schema, pointer }: Subschema): void {
  const { format } = schema;
  if (typeof format !== 'string' || formats.has(format)) return;
  const hint = didYouMean(format, formats);
  throw new SchemaProblem(childPointer(pointer, 'format'), `unknown format "${format}"${hint}`);
}

function checkValues(schema: AnySchema): void {
  if (metaAjv.validateSchema(schema) === true) return;
  const error = metaAjv.errors?.toSorted(byDepth)[0];
  if (error === undefined) throw new SchemaProblem('', 'the schema is not valid');
  const keyword = error.instancePath.slice(error.instancePath.lastIndexOf('/') + 1);
  const subject = keyword === '' ? 'a schema' : `"${keyword.replaceAll('~1', '/').replaceAll('~0', '~')}"`;
  throw new SchemaProblem(error.instancePath, `${subject} ${ruleOf(error)}`);
}

/** The error that lies deepest is the most exact one. */
function byDepth(a: ErrorObject, b: ErrorObject): number {
  return b.instancePath.split('/').length - a.instancePath.split('/').length;
}

function didYouMean(word: string, known: ReadonlySet<string>): string {
  const guess = closest(word, [...known]);
  return distance(word, guess) <= 1 + word.length / 4 ? `, did you mean "${guess}"?` : '';
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
// `$async` would make a check return a promise, which is truthy and so would let every body pass. The others are of
// older drafts and would be ignored or refused without saying where.
const foreign = new Set(['$async', 'id', '$recursiveRef', '$recursiveAnchor']);
const keywords: ReadonlySet<string> = new Set(Object.keys(metaAjv.RULES.keywords)).difference(foreign);
