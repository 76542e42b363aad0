import { isSlowPattern } from '../slow-pattern.ts';
import { isObject, subschemas } from '../subschemas.ts';
import { show } from '../wording.ts';
import type { Rule } from './draft.ts';

/** Up to this length even a pattern that doubles its time with each character ends within milliseconds. */
const harmlessLengthMax = 16;

/** The pattern of a body schema runs on texts that clients choose, and nothing else is answered meanwhile. */
export const patternsAreQuick: Rule = ({ config: { routes } }, report) => {
  for (const { body } of routes) {
    if (typeof body === 'string') continue;
    for (const { schema } of subschemas(body.json?.schema ?? body.upload?.fields.schema)) {
      const { pattern, patternProperties, maxLength } = schema;
      const short = typeof maxLength === 'number' && maxLength <= harmlessLengthMax;
      if (typeof pattern === 'string' && !short && isSlowPattern(pattern))
        report.warning(
          schema,
          'pattern',
          `${slow(pattern)}, or set maxLength to ${harmlessLengthMax} or less`,
        );
      if (!isObject(patternProperties)) continue;
      for (const key of Object.keys(patternProperties)) {
        if (isSlowPattern(key)) report.warning(patternProperties, key, slow(key));
      }
    }
  }
};

function slow(pattern: string): string {
  return `${show(pattern)} repeats a repetition, and a hostile text can make it hold up every request: rewrite it with one`;
}
