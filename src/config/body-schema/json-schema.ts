import {
  _,
  Ajv2020,
  type CodeKeywordDefinition,
  type KeywordCxt,
  type KeywordDefinition,
  type Options,
} from 'ajv/dist/2020.js';
import names from 'ajv/dist/compile/names.js';
import { Type } from 'ajv/dist/compile/util.js';
import { isContainer } from '../../content/is-object.ts';
import { addBodyFormats } from './body-formats.ts';
import { among, areEqual, areUnique, multiplesOf } from './json-values.ts';
import { leadsToWhole } from './subschemas.ts';
import { collectEvaluated } from './unevaluated.ts';

/**
 * A JSON Schema 2020-12 compiler with every format. Each schema gets its own, so that two routes may use the same `$id`.
 * With `meta: false` it knows no meta-schema, which saves most of its memory and time, and trusts what it compiles.
 */
export function createAjv(options: {
  readonly meta: boolean;
  /** Told of each reference that a check follows, with the value it is for. What it throws ends the check. */
  readonly onReference?: (value: unknown) => void;
}): Ajv2020 {
  const ajv = new Ajv2020({
    ...ajvOptions,
    meta: options.meta,
    validateSchema: options.meta,
    // All mistakes of a schema are wanted; in a body the first one ends the work.
    allErrors: options.meta,
    // Bodies come by the thousand; a schema comes once, and optimizing the meta-schema would cost 20 ms of every start.
    code: { optimize: !options.meta },
  });
  addBodyFormats(ajv);
  // Ajv resolves anchors and yet calls the keyword unknown.
  ajv.addKeyword('$anchor');
  for (const keyword of notesOfOpenApi) ajv.addKeyword(keyword);
  boundErrors(ajv);
  countWhatFits(ajv);
  passWhatIsAbsent(ajv);
  compareAsJson(ajv);
  if (!options.meta) readDynamicReferences(ajv);
  if (options.onReference !== undefined) announceReferences(ajv, options.onReference);
  for (const keyword of [uniqueItems, multipleOf]) {
    ajv.removeKeyword(String(keyword.keyword));
    ajv.addKeyword(keyword);
  }
  collectEvaluated(ajv);
  return ajv;
}

const ajvOptions: Options = {
  strict: true,
  // What reasonable people write: unions of types, tuples of open length, `required` beside `$ref`.
  strictTypes: false,
  strictTuples: false,
  strictRequired: false,
  allowMatchingProperties: true,
  // Without this `required: [constructor]` would be satisfied by every object.
  ownProperties: true,
  unicodeRegExp: true,
  logger: false,
};

const notesOfOpenApi = ['discriminator', 'example', 'externalDocs', 'xml'];

/** What schemas of OpenAPI say besides for readers and tools, extensions among it. None of it decides whether a body fits. */
export function isNote(keyword: string): boolean {
  return keyword.startsWith('x-') || notesOfOpenApi.includes(keyword);
}

/**
 * Ajv keeps each error of alternatives that all failed. Where a schema refers to itself in two, errors double with every level of
 * the body: 500 bytes took all memory. The first ones tell enough.
 */
const errorsMax = 100;
/** The names of the errors and their number in Ajv's code. */
const { vErrors, errors } = names.default;

/** To that code a value fits if its check has left the number of errors as it was, so no keyword may remove older ones. */
function boundErrors(ajv: Ajv2020): void {
  for (const keyword of ['anyOf', 'oneOf']) {
    prepareCode(ajv, keyword, (context) => {
      const report = context.error.bind(context);
      const most = _`${context.errsCount} + ${errorsMax}`;
      context.error = (...details) => {
        context.gen.if(_`${errors} > ${most}`, () => {
          context.gen.assign(_`${vErrors}.length`, most).assign(errors, most);
        });
        report(...details);
      };
    });
  }
}

/**
 * Ajv's own code takes an empty array for the one before it, leaves an error for each item that does not fit, 90 MB for an array of a
 * megabyte, and refuses a `contains` that asks for nothing, though what it fits is evaluated.
 */
function countWhatFits(ajv: Ajv2020): void {
  changeCode(ajv, 'contains', () => (context) => {
    const { gen, data, keyword, parentSchema } = context;
    const { minContains: min = 1, maxContains: max } = parentSchema;
    context.setParams({ min, max });
    const count = gen.let('count', 0);
    const fits = gen.name('fits');
    gen.forRange('i', 0, _`${data}.length`, (i) => {
      context.subschema({ keyword, dataProp: i, dataPropType: Type.Num, compositeRule: true }, fits);
      context.reset();
      gen.if(fits, () => gen.code(_`${count}++`));
      gen.if(max === undefined ? _`${count} >= ${min}` : _`${count} > ${max}`, () => gen.break());
    });
    const isEnough = _`${count} >= ${min}`;
    context.pass(max === undefined ? isEnough : _`${isEnough} && ${count} <= ${max}`);
  });
}

/**
 * An item that a shorter array lacks passes, and the keywords that come after the tuple are still checked. In a list of arrays the
 * variables of Ajv's code hold what they held for the array before: an item that is not there would be judged as that array's item
 * in its place.
 */
function passWhatIsAbsent(ajv: Ajv2020): void {
  prepareCode(ajv, 'prefixItems', (context) => {
    const check = context.subschema.bind(context);
    context.subschema = (details, valid) => {
      const checked = check(details, valid);
      context.gen.else().var(valid, true);
      return checked;
    };
  });
}

/**
 * In a schema of one piece an anchor has one place, and `$dynamicRef` leads there as `$ref` does. Ajv silently takes it for the
 * whole schema if it has not passed that place before.
 */
function readDynamicReferences(ajv: Ajv2020): void {
  const plain = ajv.getKeyword('$ref') as CodeKeywordDefinition;
  ajv.removeKeyword('$dynamicRef');
  ajv.addKeyword({ ...plain, keyword: '$dynamicRef' });
  for (const keyword of ['$ref', '$dynamicRef']) prepareCode(ajv, keyword, findWhole);
}

/** Ajv does not find an anchor of the whole schema. */
function findWhole(context: KeywordCxt): void {
  const { baseId, schemaEnv } = context.it;
  const isOutsidePieces = baseId.replace(/#$/, '') === schemaEnv.root.baseId.replace(/#$/, '');
  if (isOutsidePieces && leadsToWhole(context.schema, schemaEnv.root.schema)) context.schema = '#';
}

function announceReferences(ajv: Ajv2020, onReference: (value: unknown) => void): void {
  for (const keyword of ['$ref', '$dynamicRef']) {
    prepareCode(ajv, keyword, ({ gen, data }) =>
      gen.code(_`${gen.scopeValue('func', { ref: onReference })}(${data})`),
    );
  }
}

/** Makes a keyword write its code as before, once its context is prepared. */
function prepareCode(ajv: Ajv2020, keyword: string, prepare: (context: KeywordCxt) => void): void {
  changeCode(ajv, keyword, (write) => (context) => {
    prepare(context);
    write(context);
  });
}

type WriteCode = CodeKeywordDefinition['code'];

/** In its place: of several faults in a body Ajv tells the one whose keyword comes first. */
function changeCode(ajv: Ajv2020, keyword: string, change: (write: WriteCode) => WriteCode): void {
  const rule = ajv.getKeyword(keyword) as CodeKeywordDefinition;
  rule.code = change(rule.code.bind(rule));
}

/**
 * Ajv asks the values themselves whether they are equal: a body with a `valueOf` or `toString` of its own would break the check,
 * and one with a `constructor` would never be equal. And it holds each value against all of a long list, one after the other: half a
 * second for 64 KB of language codes.
 */
function compareAsJson(ajv: Ajv2020): void {
  changeCode(ajv, 'const', (write) => (context) => {
    const allowed: unknown = context.schema;
    if (isContainer(allowed)) passIf(context, (value) => areEqual(allowed, value));
    else write(context);
  });
  changeCode(ajv, 'enum', (write) => (context) => {
    const allowed: readonly unknown[] = context.schema;
    if (allowed.length > comparedInTurn || allowed.some(isContainer)) passIf(context, among(allowed));
    else write(context);
  });
}

/** Up to so many scalars are compared by Ajv's own code: that takes no longer than to look one up. */
const comparedInTurn = 16;

function passIf(context: KeywordCxt, judge: (value: unknown) => boolean): void {
  // A schema that refers to itself may come to a value very often.
  const known = new WeakMap<object, boolean>();
  const isAllowed = (value: unknown): boolean =>
    isContainer(value) ? known.getOrInsertComputed(value, judge) : judge(value);
  context.pass(_`${context.gen.scopeValue('func', { ref: isAllowed })}(${context.data})`);
}

/** Ajv compares every pair of items, which takes minutes for a megabyte; this takes linear time. */
const uniqueItems: KeywordDefinition = {
  keyword: 'uniqueItems',
  type: 'array',
  schemaType: 'boolean',
  compile: (wanted: boolean) => (items: readonly unknown[]) => !wanted || areUnique(items),
};

/** Ajv divides doubles, for which 19.99 is not a multiple of 0.01. */
const multipleOf: KeywordDefinition = {
  keyword: 'multipleOf',
  type: 'number',
  schemaType: 'number',
  compile: multiplesOf,
};
