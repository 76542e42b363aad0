import type { JsonBodyRule } from '../config/config.ts';
import { type JsonBounds, JsonProblem, parseStrictJson } from '../content/strict-json.ts';
import { Refusal } from '../refusals.ts';

/**
 * Takes the whole body and returns when it is JSON that every parser reads the same way and that fits the route's
 * schema; the bytes themselves are what is forwarded. Refuses with `body_malformed` and `body_invalid`. Where the route only
 * reports what does not fit, it returns the sentence that the client would have got.
 */
export function readJson(bytes: Buffer, rule: JsonBodyRule): string | undefined {
  const { schema } = rule;
  const value = parse(bytes, rule);
  const mismatch = schema?.check(value);
  if (mismatch !== undefined && schema?.onMismatch === 'refuse')
    throw new Refusal('body_invalid', { message: mismatch });
  return mismatch;
}

/**
 * Refuses with `content_type_unsupported` unless the value of Content-Type declares JSON in UTF-8 and nothing else, so that the
 * upstream cannot decide to read the body in another way. The door checks that there is only one such header. The name `utf8`,
 * which is in no registry, is refused: parsers may make of it what they like.
 */
export function requireJsonContentType(value: string | undefined, suffixed: boolean): void {
  if (value === 'application/json' || value === 'application/json; charset=utf-8') return;
  const taken = suffixed ? jsonOrSuffixed : json;
  if (value !== undefined && taken.test(value)) return;
  const [type = '', ...parameters] = value?.split(';', 2) ?? [];
  const demand = suffixed ? 'application/json or application/*+json' : 'application/json';
  const isNearly = parameters.length > 0 && taken.test(type.trimEnd());
  throw new Refusal('content_type_unsupported', {
    message: `Content-Type must be ${demand}${isNearly ? ' with charset=utf-8 or no parameter' : ''}`,
  });
}

function parse(bytes: Buffer, bounds: JsonBounds): unknown {
  try {
    return parseStrictJson(bytes, bounds);
  } catch (error) {
    if (error instanceof JsonProblem) throw new Refusal('body_malformed', { message: error.message });
    throw error;
  }
}

const json = /^application\/json(?: *; *charset=(?:utf-8|"utf-8"))?$/i;

/** The characters are those of RFC 6838, section 4.2. */
const jsonOrSuffixed =
  /^application\/(?:[a-z0-9][a-z0-9!#$&^_.+-]*\+)?json(?: *; *charset=(?:utf-8|"utf-8"))?$/i;
