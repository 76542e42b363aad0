import { isObject } from '../content/is-object.ts';
import { scalarOf, type ShapeError } from './check-shape.ts';
import { formatOf } from './formats.ts';
import { isMisspelt, show, showName, slipIn, suggest, suggestNear } from './wording.ts';

/**
 * The sentence for one mistake against the schema: what is wrong and what would be right. Undefined when another error
 * says it better. A secret is never shown, and neither is anything from the environment (`hidden`).
 */
export function sentenceFor(error: ShapeError, hidden: boolean): string | undefined {
  // The mapping has an error of `propertyNames` as well, and that one is told.
  if (error.propertyName !== undefined) return undefined;
  // What is no whole number is told by `type`.
  if ((error.keyword === 'minimum' || error.keyword === 'maximum') && !Number.isInteger(error.data))
    return undefined;
  // Where there is a choice, `enum` lists the words; to put a number in quotes would not make it one of them.
  if (error.keyword === 'type' && part(error)['enum'] !== undefined) return undefined;
  if (error.keyword === 'required' && isToldAsUnknown(error)) return undefined;
  const subject = hidden || part(error)['writeOnly'] === true ? hiddenSubject : show(error.data);
  return sentences[error.keyword]?.(error, subject) ?? `${subject} is not valid here`;
}

function isToldAsUnknown(error: ShapeError): boolean {
  const { params, data } = error;
  return isObject(data) && isMisspelt(String(params['missingProperty']), data, optionsOf(error));
}

/** What a sentence calls a value that it must not show. */
const hiddenSubject = 'the value';

const sentences: Readonly<Record<string, (error: ShapeError, subject: string) => string>> = {
  type: typeSentence,
  format: (error, subject) =>
    `${subject} ${fault(error, String(error.data)) ?? 'is not valid'}${needlessQuotes(error)}`,
  additionalProperties: (error) => unknownSentence(String(error.params['additionalProperty']), error),
  required: () => 'is missing',
  enum: ({ params, data }, subject) => choiceSentence(data, texts(params['allowedValues']), subject),
  propertyNames: nameSentence,
  minimum: ({ params }, subject) => `${subject} is too small, the least is ${params['limit']}`,
  maximum: ({ params }, subject) => `${subject} is too large, the most is ${params['limit']}`,
  minItems: () => 'is an empty list, at least one is needed',
  maxItems: ({ params }) => `is a list of more than ${params['limit']}`,
  minProperties: (error) => `is empty, ${advice(error) ?? 'at least one is needed'}`,
  maxProperties: () => 'can have only one of its options',
  minLength: () => 'is empty',
  maxLength: ({ params }) => `is longer than ${params['limit']} characters`,
  uniqueItems: ({ params }) => `has the same value twice, at [${params['i']}] and [${params['j']}]`,
};

function unknownSentence(name: string, error: ShapeError): string {
  const options = optionsOf(error);
  const [above = ''] = name.split('.', 1);
  if (above !== name && options.includes(above))
    return `unknown option, what belongs to "${above}" stands on lines below it`;
  const value: unknown = isObject(error.data) ? error.data[name] : undefined;
  const slip = slipIn(name, value);
  if (slip !== undefined) return `unknown option, ${slip}`;
  // In `{ message: Sorry, not found }` the text ends at its comma. In `{ status 404 }` a colon is missing.
  const [, first] = /^(\w+) \w/.exec(name) ?? [];
  const isRest = first !== undefined && value === null && !options.includes(first);
  if (isRest && suggestNear(name, options) === '')
    return 'unknown option, a text with a comma in it needs quotes';
  return `unknown option${suggest(name, options)}`;
}

function typeSentence(error: ShapeError, subject: string): string {
  const { data } = error;
  const wanted = types(error);
  const words = wanted.map((type) => typeWords[type] ?? type).join(' or ');
  if (data === null) return `is empty, ${advice(error) ?? `it must be ${words}`}${orNothing(error)}`;
  if (wanted.includes('array') && isGlued(data)) return `must be ${words}: a space is missing after a -`;
  // Text where a mapping belongs is not shown either: it may be a secret that lacks its key.
  if (typeof data === 'string' && !wanted.some((type) => type === 'integer' || type === 'boolean'))
    return `must be ${words}, not text`;
  // A secret may be made of digits, too.
  if (typeof data === 'number' && wanted.every((type) => type === 'object' || type === 'array'))
    return `must be ${words}, not a number`;
  if (!wanted.includes('string') || typeof data === 'object') {
    return subject === hiddenSubject
      ? `must be ${words}`
      : `must be ${words}, not ${subject}${needlessQuotes(error)}`;
  }
  // The value is not shown as it was read: 007 was read as 7, and "7" in quotes would be another id.
  const problem = fault(error, JSON.stringify(data));
  return problem === undefined ? `must be text, put ${hiddenSubject} in quotes` : `${subject} ${problem}`;
}

/** What is said of a number, or of true or false, that is a text only because of its quotes. */
function needlessQuotes(error: ShapeError): string {
  const { data } = error;
  return typeof data === 'string' && scalarOf(data, types(error)) !== undefined
    ? ': leave out the quotes'
    : '';
}

/** What is said of a list, or of a mapping whose options may all be left out. One of names, or a schema, has no options. */
function orNothing(error: ShapeError): string {
  const { properties, required, minProperties, default: usual } = part(error);
  if (Array.isArray(usual)) return '; [] is none';
  const needsNone = required === undefined && minProperties === undefined;
  return properties !== undefined && needsNone ? '; {} has the defaults' : '';
}

/** Whether it begins with the dash of an item, glued to what follows: YAML takes such a list for one text or a mapping. */
function isGlued(data: unknown): boolean {
  const [begin] = isObject(data) ? Object.keys(data) : [data];
  return typeof begin === 'string' && begin.startsWith('-');
}

const typeWords: Readonly<Record<string, string>> = {
  object: 'a mapping (option: value)',
  array: 'a list ([one, two])',
  string: 'text',
  integer: 'a whole number',
  boolean: 'true or false',
};

function choiceSentence(data: unknown, choices: readonly string[], subject: string): string {
  if (data === null) return `is empty, choose from ${choices.join(', ')}`;
  if (subject === hiddenSubject || typeof data !== 'string')
    return `${subject} is not one of ${choices.join(', ')}`;
  return `there is no ${subject}${suggest(data, choices)}`;
}

function nameSentence({ params, schema }: ShapeError): string {
  const name = String(params['propertyName']);
  if (isObject(schema) && Array.isArray(schema['enum'])) {
    return `there is no refusal ${showName(name)}${suggest(name, texts(schema['enum']))}`;
  }
  const problem = isObject(schema) ? formatOf(schema['format'])?.fault(name) : undefined;
  const slip = slipIn(name);
  if (slip !== undefined) return `${showName(name)}: ${slip}`;
  return `${showName(name)} ${problem ?? 'is not valid as a name'}`;
}

function fault(error: ShapeError, text: string): string | undefined {
  return formatOf(part(error)['format'])?.fault(text);
}

/** What the format of the value asks people to write. */
function advice(error: ShapeError): string | undefined {
  return /(?<=, )write .*/.exec(fault(error, '') ?? '')?.[0];
}

function types(error: ShapeError): readonly string[] {
  return texts([part(error)['type']].flat());
}

function part({ parentSchema }: ShapeError): Readonly<Record<string, unknown>> {
  return parentSchema ?? {};
}

function optionsOf(error: ShapeError): readonly string[] {
  return Object.keys(part(error)['properties'] ?? {});
}

function texts(value: unknown): readonly string[] {
  return Array.isArray(value) ? value.map(String) : [];
}
