import type { AnySchema } from 'ajv/dist/2020.js';
import { size } from '../checked.ts';
import { fieldsBytesMax } from '../held-bytes.ts';
import { weightOfAll } from './check-steps.ts';
import { compileBodySchema, compileCheckedSchema, stepsUsual, type BodyCheck } from './compile-schema.ts';
import type { Report } from '../rules/draft.ts';
import { SchemaProblems } from './schema-problem.ts';
import type { RawRoute, RawUpload } from '../schema.ts';

/** References for each value, and at each level of it: more than a check that grows with the body needs. */
const referencesPerValue = 2;

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
  readonly stepsMax: number;
}

function schemasOf(routes: readonly RawRoute[]): readonly BodySchema[] {
  return routes.flatMap((route) => {
    if (typeof route.body === 'string') return [];
    const { json, upload } = route.body;
    if (json?.schema !== undefined) {
      const { schema, maxValues, maxDepth, maxSize } = json;
      const bounds = { valuesMax: maxValues, depthMax: maxDepth, bytesMax: size(maxSize) };
      return [{ route, schema, stepsMax: stepsFor(bounds) }];
    }
    const schema = upload?.fields.schema;
    return upload === undefined || schema === undefined
      ? []
      : [{ route, schema, stepsMax: stepsFor(boundsOfFields(upload)) }];
  });
}

interface BodyBounds {
  readonly valuesMax: number;
  readonly depthMax: number;
  readonly bytesMax: number;
}

/** A small body may have many references for each of its values. */
function stepsFor({ valuesMax, depthMax, bytesMax }: BodyBounds): number {
  // A value takes two bytes of JSON at least.
  const weightMax = weightOfAll(Math.min(valuesMax, bytesMax / 2), bytesMax);
  return Math.max(stepsUsual, referencesPerValue * valuesMax) + referencesPerValue * depthMax * weightMax;
}

/** A form is an object of texts and lists of texts. */
function boundsOfFields({ fields: { maxCount, maxSize }, maxSize: formSize }: RawUpload): BodyBounds {
  const bytesMax = Math.min(fieldsBytesMax(maxCount, size(maxSize)), size(formSize));
  return { valuesMax: 2 * maxCount + 1, depthMax: 3, bytesMax };
}
