import type { AnySchema } from 'ajv/dist/2020.js';
import { compileBodySchema, compileCheckedSchema, type BodyCheck } from './compile-schema.ts';
import type { Report } from '../rules/draft.ts';
import { SchemaProblems } from './schema-problem.ts';
import type { RawRoute } from '../schema.ts';

/** References a check may follow per value allowed in a body: more than a check that grows with the body needs. */
const stepsPerValue = 2;
/** A small form may have many references for each of its fields. */
const stepsMin = 10_000;

/** The compiled schema of each route that has one. Schemas that do not compile are reported at their own line. */
export function compileBodies(
  routes: readonly RawRoute[],
  report: Pick<Report, 'problemBelow'>,
): ReadonlyMap<RawRoute, BodyCheck> {
  const checks = new Map<RawRoute, BodyCheck>();
  for (const { route, schema, stepsMax } of schemasOf(routes)) {
    try {
      checks.set(route, compileBodySchema(schema, stepsMax));
    } catch (error) {
      if (!(error instanceof SchemaProblems)) throw error;
      for (const { pointer, message } of error.problems) report.problemBelow(schema, pointer, message);
    }
  }
  return checks;
}

/** The same for routes whose schemas are known to compile. */
export function compileCheckedBodies(routes: readonly RawRoute[]): ReadonlyMap<RawRoute, BodyCheck> {
  const compiled = schemasOf(routes).map(
    ({ route, schema, stepsMax }) => [route, compileCheckedSchema(schema, stepsMax)] as const,
  );
  return new Map(compiled);
}

interface BodySchema {
  readonly route: RawRoute;
  readonly schema: AnySchema & object;
  readonly stepsMax: number | undefined;
}

function schemasOf(routes: readonly RawRoute[]): readonly BodySchema[] {
  return routes.flatMap((route) => {
    if (typeof route.body === 'string') return [];
    const { json, upload } = route.body;
    const schema = json?.schema ?? upload?.fields.schema;
    if (schema === undefined) return [];
    const stepsMax = json && Math.max(stepsMin, stepsPerValue * json.maxValues);
    return [{ route, schema, stepsMax }];
  });
}
