import { Ajv2020 } from 'ajv/dist/2020.js';
import addFormats from 'ajv-formats';

/**
 * Says what is wrong with a value in one sentence that names the field and the rule, never the value;
 * undefined when the value is valid.
 */
export type BodyCheck = (value: unknown) => string | undefined;

/** A body schema that cannot be used. */
export class SchemaProblem extends Error {
  /** JSON pointer of the offending part inside the schema; '' when it is not known. */
  readonly pointer: string;

  constructor(message: string, pointer: string) {
    super(message);
    this.name = 'SchemaProblem';
    this.pointer = pointer;
  }
}

/** Compiles a JSON Schema (draft 2020-12) for request bodies; throws a SchemaProblem when it is not one. */
export function compileBodySchema(schema: unknown): BodyCheck {
  const ajv = new Ajv2020({ allErrors: false, strict: true });
  addFormats.default(ajv);
  if (typeof schema !== 'object' || schema === null) throw new SchemaProblem('is not a JSON Schema', '');
  if (!ajv.validateSchema(schema)) {
    const [error] = ajv.errors ?? [];
    throw new SchemaProblem(error?.message ?? 'is not a JSON Schema', error?.instancePath ?? '');
  }
  const check = compile(ajv, schema);
  return (value) => (check(value) ? undefined : (check.errors?.[0]?.message ?? 'is not valid'));
}

function compile(ajv: Ajv2020, schema: object): ReturnType<Ajv2020['compile']> {
  try {
    return ajv.compile(schema);
  } catch (error) {
    throw new SchemaProblem(error instanceof Error ? error.message : 'cannot be compiled', '');
  }
}
