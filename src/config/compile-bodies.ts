import { compileBodySchema } from './compile-schema.ts';
import { SchemaProblems } from './schema-problem.ts';
import type { BodyCheck } from './compile-schema.ts';
import type { Report } from './rules/draft.ts';
import type { RawRoute } from './schema.ts';

/** The compiled schema of each route that has one. Schemas that do not compile are reported at their own line. */
export function compileBodies(routes: readonly RawRoute[], report: Report): ReadonlyMap<RawRoute, BodyCheck> {
  const checks = new Map<RawRoute, BodyCheck>();
  for (const route of routes) {
    if (typeof route.body === 'string') continue;
    const schema = route.body.json?.schema ?? route.body.upload?.fields.schema;
    if (schema === undefined) continue;
    try {
      checks.set(route, compileBodySchema(schema));
    } catch (error) {
      if (!(error instanceof SchemaProblems)) throw error;
      for (const { pointer, message } of error.problems) report.problemBelow(schema, pointer, message);
    }
  }
  return checks;
}
