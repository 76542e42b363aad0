import type { AnySchemaObject } from 'ajv/dist/2020.js';
import { checkSchema } from '../../src/config/body-schema/check-schema.ts';
import { compileBodySchema as compile, type BodyCheck } from '../../src/config/body-schema/compile-schema.ts';

/** As routes have it unless they say otherwise. */
const depthUsual = 32;

/** The check of a schema, once found well formed, for bodies of the usual depth. */
export function compileBodySchema(schema: unknown, depthMax = depthUsual): BodyCheck {
  return compile(checkSchema(schema as AnySchemaObject), depthMax);
}
