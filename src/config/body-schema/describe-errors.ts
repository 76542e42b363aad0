import type { ErrorObject } from 'ajv/dist/2020.js';
import { isContainer } from '../../content/is-object.ts';
import { stepsOf } from '../json-pointer.ts';
import { counted, listed } from '../wording.ts';

/**
 * One sentence for the errors that Ajv stopped with. It names the field and the rule, both in the operator's words; values, and
 * names that only the client chose, are never in it: `fields` are the names that may be shown.
 */
export function describeErrors(
  errors: readonly ErrorObject[],
  fields: ReadonlySet<string>,
  body: unknown,
): string {
  // Ajv stops at the first error, which is the last of the list; those before it lie inside it.
  const last = errors.at(-1);
  if (last === undefined) return 'the body is not valid';
  const { error, rule } = hasNoMatch(last) ? pickAlternative(last, errors.slice(0, -1)) : found(last);
  const place = placeOf(error.instancePath, fields, body);
  switch (error.keyword) {
    case 'required':
    case 'dependentRequired':
    case 'dependencies':
      return place === '' ? rule : `${place}.${rule}`;
    case 'additionalProperties':
    case 'unevaluatedProperties':
      return place === '' ? `unknown field ${rule}` : `unknown field in ${place} ${rule}`;
    case 'propertyNames':
      return `a field name in ${place || 'the body'} ${rule}`;
    default:
      return `${place || 'the body'} ${rule}`;
  }
}

/** What the keyword of this error demands, to be read after the name of a field: `must be a string`. */
export function ruleOf({ keyword, params }: ErrorObject): string {
  return rules[keyword]?.(params) ?? 'is not valid';
}

interface Finding {
  readonly error: ErrorObject;
  readonly rule: string;
}

/** Whether all alternatives failed. */
function hasNoMatch({ keyword, params }: ErrorObject): boolean {
  return keyword === 'anyOf' || (keyword === 'oneOf' && !params['passingSchemas']);
}

/**
 * Guesses which of the failed alternatives the client meant: not one for another type or with another tag, but one that failed deep
 * inside. Complaints of one kind about one field are told together.
 */
function pickAlternative(whole: ErrorObject, inside: readonly ErrorObject[]): Finding {
  const leaves = inside.filter((error) => !combining.has(error.keyword) && error.propertyName === undefined);
  const meant = leaves.filter((error) => !isOtherKind(error, whole));
  const candidates = deepest(meant.length > 0 ? meant : leaves);
  const [first] = candidates;
  const rule = first && mergeRules(first, candidates);
  return rule === undefined ? found(whole) : { error: first ?? whole, rule };
}

function deepest(errors: readonly ErrorObject[]): ErrorObject[] {
  let depthMax = 0;
  let kept: ErrorObject[] = [];
  for (const error of errors) {
    const depth = error.instancePath.split('/').length;
    if (depth > depthMax) kept = [];
    if (depth >= depthMax) kept.push(error);
    depthMax = Math.max(depth, depthMax);
  }
  return kept;
}

function mergeRules(first: ErrorObject, errors: readonly ErrorObject[]): string | undefined {
  if (errors.some((error) => error.instancePath !== first.instancePath)) return undefined;
  const [keyword, ...others] = new Set(errors.map((error) => error.keyword));
  const [rule, ...otherRules] = new Set(errors.map(ruleOf));
  if (otherRules.length === 0) return rule;
  if (errors.every((error) => listing.has(error.keyword))) return 'must be one of the allowed values';
  if (others.length > 0) return undefined;
  if (keyword === 'type')
    return typeRule(errors.flatMap((error) => error.params['type'] as string | string[]));
  if (keyword !== 'required') return undefined;
  const missing = new Set(errors.map((error) => String(error.params['missingProperty'])));
  return `${listed('or', [...missing])} is required`;
}

function isOtherKind(error: ErrorObject, whole: ErrorObject): boolean {
  if (listing.has(error.keyword)) return true;
  return error.keyword === 'type' && error.instancePath === whole.instancePath;
}

function found(error: ErrorObject): Finding {
  return { error, rule: ruleOf(error) };
}

/** `/names/2/first` becomes `names[2].first`, with `*` for a name that is the client's own. The body itself is ''. */
function placeOf(instancePath: string, fields: ReadonlySet<string>, body: unknown): string {
  let place = '';
  let value = body;
  for (const name of stepsOf(instancePath)) {
    // Only the body can tell an index from a name made of digits.
    if (Array.isArray(value)) place += `[${name}]`;
    else place += `${place === '' ? '' : '.'}${fields.has(name) ? fieldName(name) : '*'}`;
    value = isContainer(value) ? Reflect.get(value, name) : undefined;
  }
  return place;
}

type Params = Readonly<Record<string, unknown>>;

const listing = new Set(['const', 'enum']);

const combining = new Set(['anyOf', 'oneOf', 'if', 'not']);

const rules: Readonly<Record<string, (params: Params) => string>> = {
  type: ({ type }) => typeRule([type].flat() as string[]),
  required: ({ missingProperty }) => `${String(missingProperty)} is required`,
  dependentRequired: neededBeside,
  dependencies: neededBeside,
  additionalProperties: () => 'is not allowed',
  unevaluatedProperties: () => 'is not allowed',
  'false schema': () => 'is not allowed',
  propertyNames: () => 'is not allowed',
  minLength: ({ limit }) =>
    limit === 1 ? 'must not be empty' : `must not be shorter than ${characters(limit)}`,
  maxLength: ({ limit }) => (limit === 0 ? 'must be empty' : `must not be longer than ${characters(limit)}`),
  pattern: ({ pattern }) => (pattern === '\\S' ? 'must not be blank' : 'does not have the required form'),
  format: ({ format }) => (format === 'byte' ? 'must be valid base64' : `must be a valid ${String(format)}`),
  minimum: ({ limit }) => `must not be less than ${String(limit)}`,
  maximum: ({ limit }) => `must not be greater than ${String(limit)}`,
  exclusiveMinimum: ({ limit }) => `must be greater than ${String(limit)}`,
  exclusiveMaximum: ({ limit }) => `must be less than ${String(limit)}`,
  multipleOf: () => 'must be a multiple of the allowed step',
  minItems: ({ limit }) => atLeast(limit, 'item'),
  maxItems: ({ limit }) => atMost(limit, 'item'),
  items: ({ limit }) => atMost(limit, 'item'),
  uniqueItems: () => 'must not hold the same item twice',
  contains: ({ minContains, maxContains }) => {
    if (maxContains === undefined) return `must hold at least ${counted(minContains, 'matching item')}`;
    const range = minContains === maxContains ? 'exactly' : `${String(minContains)} to`;
    return `must hold ${range} ${counted(maxContains, 'matching item')}`;
  },
  minProperties: ({ limit }) => atLeast(limit, 'field'),
  maxProperties: ({ limit }) => atMost(limit, 'field'),
  enum: () => 'must be one of the allowed values',
  const: () => 'must have the one allowed value',
  not: () => 'has a form that is not allowed',
  anyOf: () => 'must have one of the allowed forms',
  oneOf: ({ passingSchemas }) =>
    passingSchemas ? 'must have only one of the allowed forms' : 'must have one of the allowed forms',
};

/** A name may be empty. */
function fieldName(name: unknown): string {
  return name === '' ? '""' : String(name);
}

function neededBeside({ missingProperty, property }: Params): string {
  return `${String(missingProperty)} is required beside ${fieldName(property)}`;
}

function typeRule(types: readonly string[]): string {
  const names = [...new Set(types)].map((type) => typeNames[type] ?? type);
  return `must be ${listed('or', names)}`;
}

const typeNames: Readonly<Record<string, string>> = {
  string: 'a string',
  number: 'a number',
  integer: 'an integer',
  boolean: 'true or false',
  object: 'an object',
  array: 'an array',
};

function atLeast(limit: unknown, thing: string): string {
  return limit === 1 ? 'must not be empty' : `must have at least ${counted(limit, thing)}`;
}

function atMost(limit: unknown, thing: string): string {
  return limit === 0 ? 'must be empty' : `must not have more than ${counted(limit, thing)}`;
}

function characters(limit: unknown): string {
  return counted(limit, 'character');
}
