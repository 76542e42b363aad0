import { compileBodySchema } from './compile-schema.ts';
import { SchemaProblems } from './schema-problem.ts';
import type { BodyCheck } from './compile-schema.ts';
import type { Report } from './rules/draft.ts';
import type { RawRoute } from './schema.ts';

/** So many references may be followed for each value that a body may have: more than a check that grows with the body takes. */
const stepsPerValue = 2;

/** The compiled schema of each route that has one. Schemas that do not compile are reported at their own line. */
export function compileBodies(
  routes: readonly RawRoute[],
  report: Pick<Report, 'problemBelow'>,
): ReadonlyMap<RawRoute, BodyCheck> {
  const checks = new Map<RawRoute, BodyCheck>();
  for (const route of routes) {
    if (typeof route.body === 'string') continue;
    const { json, upload } = route.body;
    const schema = json?.schema ?? upload?.fields.schema;
    if (schema === undefined) continue;
    try {
      checks.set(route, compileBodySchema(schema, json && stepsPerValue * json.maxValues));
    } catch (error) {
      if (!(error instanceof SchemaProblems)) throw error;
      for (const { pointer, message } of error.problems) report.problemBelow(schema, pointer, message);
    }
  }
  return checks;
}
