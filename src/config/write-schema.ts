import { writeFileSync } from 'node:fs';
import { isObject } from '../content/is-object.ts';
import { formatOf } from './formats.ts';
import { schema } from './schema.ts';

type Part = Readonly<Record<string, unknown>>;

/** Where the published schema lives. */
export const publishedAt = new URL('../../config/gateway.schema.json', import.meta.url);

/** A text with `${…}`, whose value an editor cannot know. */
const expandable = String.raw`\$\{`;

/**
 * The schema as editors read it: our own formats become patterns, and wherever the value may come from the
 * environment a text with `${…}` is fine too.
 */
export function publishedSchema(): string {
  const published = { $schema: 'https://json-schema.org/draft/2020-12/schema', ...publish(schema) };
  return `${JSON.stringify(published, undefined, 2)}\n`;
}

function publish(part: Part): Part {
  const { format, propertyNames, properties, additionalProperties, items, ...rest } = part;
  const pattern = formatOf(format)?.pattern;
  const published: Part = {
    ...rest,
    pattern: pattern && `(${pattern})|${expandable}`,
    ...namesOf(propertyNames, additionalProperties),
    ...(isObject(properties) ? { properties: publishAll(properties) } : {}),
    items: isObject(items) ? publish(items) : undefined,
  };
  return mayBeScalar(part) ? allowExpansion(published) : published;
}

function publishAll(parts: Part): Part {
  return Object.fromEntries(
    Object.entries(parts).map(([name, part]) => [name, isObject(part) ? publish(part) : part]),
  );
}

/** Names from a closed set become properties, which editors can complete; other names keep their pattern. */
function namesOf(names: unknown, values: unknown): Part {
  if (!isObject(values)) return { additionalProperties: values };
  if (isObject(names) && Array.isArray(names['enum'])) {
    const value = publish(values);
    return {
      additionalProperties: false,
      properties: Object.fromEntries(names['enum'].map((name) => [name, value])),
    };
  }
  const pattern = isObject(names) ? formatOf(names['format'])?.pattern : undefined;
  return { propertyNames: pattern && { pattern }, additionalProperties: publish(values) };
}

function allowExpansion(part: Part): Part {
  const { description, default: fallback, type, ...rules } = part;
  const outside = { description, default: fallback };
  const needsChoice = ![type].flat().includes('string') || 'enum' in rules || 'maxLength' in rules;
  if (!needsChoice) return { ...outside, type, ...rules };
  return {
    ...outside,
    anyOf: [
      { type, ...rules },
      { type: 'string', pattern: expandable },
    ],
  };
}

/** Whether the value may be a number, a boolean or a text of any kind, and so come from the environment. */
function mayBeScalar({ type }: Part): boolean {
  return [type].flat().some((name) => name === 'string' || name === 'integer' || name === 'boolean');
}

if (import.meta.main) writeFileSync(publishedAt, publishedSchema());
