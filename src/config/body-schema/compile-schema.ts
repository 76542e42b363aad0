import type { AnySchema, ValidateFunction } from 'ajv/dist/2020.js';
import { checkSchema } from './check-schema.ts';
import { describeErrors } from './describe-errors.ts';
import { createAjv } from './json-schema.ts';
import { SchemaProblems } from './schema-problem.ts';
import { declaredFields } from './subschemas.ts';

/**
 * Says what is wrong with a value in one sentence that names the field and the rule, never the value;
 * undefined when the value is valid.
 */
export type BodyCheck = (value: unknown) => string | undefined;

/**
 * Compiles a JSON Schema (2020-12) into a check of bodies, or throws `SchemaProblems`. Checking changes nothing in the
 * body: no coercion, no defaults. References reach no further than the schema itself.
 */
export function compileBodySchema(schema: unknown, stepsMax?: number): BodyCheck {
  return compileCheckedSchema(checkSchema(schema), stepsMax);
}

/** The same for a schema that was found well formed before: what a schema must be is then not compiled, which takes 50 ms. */
export function compileCheckedSchema(schema: AnySchema, stepsMax = stepsUsual): BodyCheck {
  let stepsLeft = Infinity;
  const validate = compile(schema, () => {
    stepsLeft -= 1;
    if (stepsLeft < 0) throw new TooManySteps();
  });
  const fields = declaredFields(schema);
  const judge: BodyCheck = (value) =>
    validate(value) ? undefined : describeErrors(validate.errors ?? [], fields, value);
  // Before there is a bound, which would hide that the schema has no end.
  tryOut(judge, fields);
  return (value) => {
    stepsLeft = stepsMax;
    try {
      return judge(value);
    } catch (error) {
      // What a schema makes of each level of a deep body may need more stack than there is.
      const isTooMuch = error instanceof TooManySteps || error instanceof RangeError;
      if (isTooMuch) return 'the body takes too many steps to check';
      throw error;
    }
  };
}

/**
 * References that a check may follow. Where a schema refers to itself in two alternatives they double with every level of the
 * body, so that 500 bytes could take minutes.
 */
const stepsUsual = 100_000;

class TooManySteps extends Error {}

function compile(schema: AnySchema, onReference: () => void): ValidateFunction {
  try {
    return createAjv({ meta: false, onReference }).compile(schema);
  } catch (error) {
    if (error instanceof RangeError) throw problemAt('', endless);
    const reason = error instanceof Error ? error.message : String(error);
    throw problemAt('', reason.replace(/^strict mode: /, ''));
  }
}

const endless = 'the schema refers to itself without end';

/** A schema that refers to itself without going a level deeper into the body would break at every request. */
function tryOut(check: BodyCheck, fields: ReadonlySet<string>): void {
  const values = [null, true, 0, '', [], {}];
  const objects = values.map((value) => Object.fromEntries(Array.from(fields, (field) => [field, value])));
  try {
    for (const sample of [...values, ...objects]) check(sample);
  } catch (error) {
    if (error instanceof RangeError) throw problemAt('', endless);
    throw error;
  }
}

function problemAt(pointer: string, message: string): SchemaProblems {
  return new SchemaProblems([{ pointer, message }]);
}
