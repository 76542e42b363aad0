import type { AnySchemaObject, ValidateFunction } from 'ajv/dist/2020.js';
import type { OnMismatch } from '../schema/mismatches.ts';
import { CheckSteps, TooManySteps } from './check-steps.ts';
import { describeErrors } from './describe-errors.ts';
import { createAjv, isNote } from './json-schema.ts';
import { SchemaProblems } from './schema-problem.ts';
import { declaredFields, subschemas } from './subschemas.ts';

/** Says what is wrong with a value in a sentence that names the field and the rule, never the value; undefined when it is valid. */
export type BodyCheck = (value: unknown) => string | undefined;

/** What a body is checked with, and what becomes of one that does not fit. */
export interface SchemaRule {
  readonly check: BodyCheck;
  readonly onMismatch: OnMismatch;
}

/**
 * Compiles a JSON Schema (2020-12) that `checkSchema` has found well formed into a check of bodies, or throws `SchemaProblems`.
 * Checking changes nothing in the body: no coercion, no defaults. References reach no further than the schema itself.
 */
export function compileBodySchema(schema: AnySchemaObject, depthMax: number): BodyCheck {
  const steps = new CheckSteps(depthMax);
  const validate = compile(schema, (value) => steps.follow(value));
  const fields = declaredFields(schema);
  return (value) => {
    steps.begin(value);
    try {
      return validate(value) ? undefined : describeErrors(validate.errors ?? [], fields, value);
    } catch (error) {
      // What a schema does at each level of a deep body may need more stack than there is.
      if (!(error instanceof TooManySteps || error instanceof RangeError)) throw error;
      return 'the body takes too many steps to check';
    } finally {
      steps.end();
    }
  };
}

function compile(schema: AnySchemaObject, onReference: (value: unknown) => void): ValidateFunction {
  try {
    return createAjv({ meta: false, onReference }).compile(withoutNotes(schema));
  } catch (error) {
    throw new SchemaProblems([{ pointer: '', message: whyNot(error) }]);
  }
}

/** To the compiler an `$id` in an example would be the name of a schema. */
function withoutNotes(schema: AnySchemaObject): AnySchemaObject {
  const copy = structuredClone(schema);
  for (const { schema: part } of subschemas(copy)) {
    for (const note of Object.keys(part).filter(isNote)) Reflect.deleteProperty(part, note);
  }
  return copy;
}

function whyNot(error: unknown): string {
  // The compiler follows a reference to a reference at once, and has each property checked within the check of the one before.
  if (error instanceof RangeError)
    return 'has too many properties in one place, or references that lead to each other too many times';
  const reason = error instanceof Error ? error.message : String(error);
  return reason.replace(/^strict mode: /, '');
}
