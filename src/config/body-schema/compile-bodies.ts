import { hash } from 'node:crypto';
import { serialize } from 'node:v8';
import type { AnySchemaObject } from 'ajv/dist/2020.js';
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
  return compileChanged(routes, ({ schema, depthMax }) => {
    try {
      return compileBodySchema(checkSchema(schema), depthMax);
    } catch (error) {
      if (!(error instanceof SchemaProblems)) throw error;
      for (const { pointer, message } of error.problems) report.problemBelow(schema, pointer, message);
      return undefined;
    }
  });
}

/** The same for routes whose schemas are known to compile: not checking them again saves 50 ms. */
export function compileCheckedBodies(routes: readonly RawRoute[]): ReadonlyMap<RawRoute, BodyCheck> {
  return compileChanged(routes, ({ schema, depthMax }) => compileBodySchema(schema, depthMax));
}

/** The checks of the configuration that was read last, by what they were compiled from. */
let latest: ReadonlyMap<string, BodyCheck> = new Map();

/** A schema that stays as it is from one configuration to the next is compiled once: nobody is served meanwhile. */
function compileChanged(
  routes: readonly RawRoute[],
  compile: (body: BodySchema) => BodyCheck | undefined,
): ReadonlyMap<RawRoute, BodyCheck> {
  const checks = new Map<RawRoute, BodyCheck>();
  const compiled = new Map<string, BodyCheck>();
  for (const body of schemasOf(routes)) {
    // Not as JSON, in which some numbers of YAML are the same.
    const source = hash('sha256', serialize([body.schema, body.depthMax]));
    const check = compiled.get(source) ?? latest.get(source) ?? compile(body);
    if (check === undefined) continue;
    compiled.set(source, check);
    checks.set(body.route, check);
  }
  latest = compiled;
  return checks;
}

interface BodySchema {
  readonly route: RawRoute;
  readonly schema: AnySchemaObject;
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
