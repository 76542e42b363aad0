import type { AnySchema } from 'ajv/dist/2020.js';
import type { Report } from '../rules/draft.ts';
import type { RawRoute } from '../schema.ts';
import { checkSchema } from './check-schema.ts';
import { compileBodySchema, type BodyCheck } from './compile-schema.ts';
import { SchemaProblems } from './schema-problem.ts';

/** The compiled schema of each route that has one. Schemas that do not compile are reported at their own line. */
export function compileBodies(
  routes: readonly RawRoute[],
  report: Pick<Report, 'problemBelow'>,
): ReadonlyMap<RawRoute, BodyCheck> {
  const checks = new Map<RawRoute, BodyCheck>();
  for (const { route, schema, depthMax } of schemasOf(routes)) {
    try {
      checks.set(route, compileBodySchema(checkSchema(schema), depthMax));
    } catch (error) {
      if (!(error instanceof SchemaProblems)) throw error;
      for (const { pointer, message } of error.problems) report.problemBelow(schema, pointer, message);
    }
  }
  return checks;
}

/** The same for routes whose schemas are known to compile: not checking them again saves 50 ms. */
export function compileCheckedBodies(routes: readonly RawRoute[]): ReadonlyMap<RawRoute, BodyCheck> {
  const compiled = schemasOf(routes).map(
    ({ route, schema, depthMax }) => [route, compileBodySchema(schema, depthMax)] as const,
  );
  return new Map(compiled);
}

interface BodySchema {
  readonly route: RawRoute;
  readonly schema: AnySchema & object;
  readonly depthMax: number;
}

/** A form is an object of texts and lists of texts. */
const formDepth = 3;

function schemasOf(routes: readonly RawRoute[]): readonly BodySchema[] {
  return routes.flatMap((route) => {
    if (typeof route.body === 'string') return [];
    const { json, upload } = route.body;
    const schema = json?.schema ?? upload?.fields.schema;
    return schema === undefined ? [] : [{ route, schema, depthMax: json?.maxDepth ?? formDepth }];
  });
}
