import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import * as fc from 'fast-check';
import { compileBodySchema } from '../../../helpers/compile-body-schema.ts';
import { judge } from '../../../helpers/plain-schema.ts';

describe('any schema and any body', () => {
  const name = fc.constantFrom('a', 'b', 'ab', 'c');
  const depthIdentifier = fc.createDepthIdentifier();
  const { body } = fc.letrec((tie) => ({
    body: fc.oneof(
      { maxDepth: 3 },
      fc.constantFrom<unknown[]>(0, 1, 'a', true, null),
      fc.array(tie('body'), { maxLength: 4 }),
      fc.dictionary(name, tie('body'), { maxKeys: 4, noNullPrototype: true }),
    ),
  }));
  const { schema } = fc.letrec((tie) => {
    const part = tie('schema');
    const parts = fc.array(part, { minLength: 1, maxLength: 2 });
    const rest = fc.oneof(fc.constant(false), part);
    const rules: Record<string, fc.Arbitrary<unknown>> = {
      type: fc.constantFrom('object', 'array'),
      $ref: fc.constantFrom('#/$defs/x', '#/$defs/y'),
      const: fc.constantFrom(1, 'a'),
      required: fc.tuple(name),
      uniqueItems: fc.constant(true),
      properties: map(name, part),
      patternProperties: map(fc.constantFrom('^a', 'b'), part),
      additionalProperties: part,
      prefixItems: parts,
      items: part,
      contains: part,
      allOf: parts,
      anyOf: parts,
      oneOf: parts,
      not: part,
      if: part,
      dependentSchemas: map(name, part),
      unevaluatedProperties: rest,
      unevaluatedItems: rest,
    };
    const rule = fc.oneof(
      ...Object.entries(rules).map(([keyword, value]) => fc.record({ [keyword]: value })),
    );
    return {
      schema: fc.oneof({ maxDepth: 4, depthIdentifier }, fc.oneof(fc.boolean(), fc.constant({})), {
        weight: 6,
        arbitrary: fc.tuple(fc.array(rule, { minLength: 1, maxLength: 3 }), fc.boolean(), part).map(together),
      }),
    };
  });
  const leaf = fc.constantFrom(
    { properties: { a: true } },
    { prefixItems: [{ const: 1 }] },
    { type: 'object' },
  );

  it('are judged by the letter of JSON Schema', () => {
    fc.assert(
      fc.property(
        schema,
        leaf,
        leaf,
        fc.array(body, { minLength: 8, maxLength: 8 }),
        (part, x, y, bodies) => {
          const whole = { $defs: { x, y }, items: part, additionalProperties: part };
          const check = compileBodySchema(whole);
          for (const value of [bodies, Object.fromEntries(bodies.entries()), ...bodies]) {
            assert.equal(
              check(value) === undefined,
              judge(whole, value) !== undefined,
              JSON.stringify(value),
            );
          }
        },
      ),
      { numRuns: 75 },
    );
  });
});

function map<T>(keys: fc.Arbitrary<string>, values: fc.Arbitrary<T>): fc.Arbitrary<Record<string, T>> {
  return fc.dictionary(keys, values, { maxKeys: 2, noNullPrototype: true });
}

/** Keywords that need another beside them get it, and what is required is allowed: no schema may refuse what it asks for. */
function together([rules, isFirst, other]: readonly [
  rules: readonly object[],
  isFirst: boolean,
  other: unknown,
]): object {
  const schema: Readonly<Record<string, unknown>> = Object.assign({}, ...rules);
  const { required, properties, additionalProperties: others } = schema;
  const mustAllow = others === false && Array.isArray(required);
  return {
    ...schema,
    ...(mustAllow && { properties: { [String(required)]: true, ...Object(properties) } }),
    ...('if' in schema && { [isFirst ? 'then' : 'else']: other }),
    ...('contains' in schema && { [isFirst ? 'maxContains' : 'minContains']: 2 }),
  };
}
