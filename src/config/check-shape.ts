import { Ajv2020, type ErrorObject } from 'ajv/dist/2020.js';
import { isContainer, isObject } from '../content/is-object.ts';
import { formats } from './formats.ts';
import { childPointer, holderOf, stepsOf, valueAt } from './json-pointer.ts';
import { schema, type RawConfig } from './schema.ts';

/** One mistake against the schema, with the value and the part of the schema that refused it. */
export type ShapeError = ErrorObject;

const ajv = new Ajv2020({
  allErrors: true,
  useDefaults: true,
  verbose: true,
  // A test holds our schema against the meta-schema and the strict mode: at every start they would take 40 and 20 ms.
  meta: false,
  validateSchema: false,
  strict: false,
  strictNumbers: true,
  // The wording is ours.
  messages: false,
  // The optimizer costs 30 ms of every start, and its gain in a file checked once cannot be measured.
  code: { optimize: false },
});
for (const [name, { fault }] of Object.entries(formats)) {
  ajv.addFormat(name, { type: 'string', validate: (text) => fault(text) === undefined });
}
const fits = ajv.compile<RawConfig>(schema);

/** Compares the tree with the schema and fills defaults in. `isExpanded` tells which texts came from `${…}`. */
export function checkShape(tree: unknown, isExpanded: (pointer: string) => boolean): readonly ShapeError[] {
  const errors = errorsOf(tree);
  const converted = errors.filter((error) => isExpanded(error.instancePath) && convert(tree, error));
  return converted.length === 0 ? errors : errorsOf(tree);
}

/**
 * The tree without what is wrong with it, so that the rules between fields can still be checked: the mistaken value goes, its
 * default comes back, and whatever needs it goes too. Undefined when nothing usable remains.
 */
export function salvage(tree: unknown, broken: readonly string[]): RawConfig | undefined {
  if (!isObject(tree)) return undefined;
  removeAll(tree, broken);
  // Each turn removes something, or adds what fits, so it ends; the bound only guards against a mistake here.
  for (let turn = 0; turn < 1000; turn += 1) {
    // Rules cope with empty lists, so a bad target does not hide what is wrong with every route.
    const errors = errorsOf(tree).filter(
      ({ keyword }) => keyword !== 'minItems' && keyword !== 'minProperties',
    );
    if (errors.length === 0) return tree as RawConfig;
    // All other mistakes are gone by now, so what is left needs something that is missing.
    const needing = errors.filter((error) => !supply(error));
    removeAll(
      tree,
      needing.map(({ instancePath }) => instancePath),
    );
  }
  return undefined;
}

/**
 * Where the mistake itself stands: one about a key, such as an unknown or missing option, at that key; any other at the value that
 * was refused.
 */
export function faulty({ instancePath, keyword, params, propertyName }: ShapeError): string {
  const key: unknown = params[keysOf[keyword] ?? 'propertyName'] ?? propertyName;
  return typeof key === 'string' ? childPointer(instancePath, key) : instancePath;
}

/** What Ajv calls the key that a mistake is about. */
const keysOf: Readonly<Record<string, string>> = {
  additionalProperties: 'additionalProperty',
  required: 'missingProperty',
};

/** Fills in what is missing, so that what stands beside it can be checked. Says whether it did. */
function supply({ params, data, parentSchema, instancePath }: ShapeError): boolean {
  const option = String(params['missingProperty']);
  const value = standIn(parentSchema, option, instancePath);
  return value !== undefined && isContainer(data) && Reflect.set(data, option, value);
}

/** Nothing where a list or a mapping is missing, and a name that nothing else has where a name is. */
function standIn(part: ShapeError['parentSchema'], option: string, pointer: string): unknown {
  const options: unknown = part?.['properties'];
  const rule = isObject(options) ? options[option] : undefined;
  if (!isObject(rule)) return undefined;
  if (rule['type'] === 'array') return [];
  if (rule['type'] === 'object') return {};
  const isName = rule['type'] === 'string' && rule['enum'] === undefined && nameFormats.has(rule['format']);
  if (!isName) return undefined;
  return `nameless${pointer.toLowerCase().replace(/[^a-z0-9]/g, '-')}`.slice(-64);
}

/** Without a format it is the name of something elsewhere in the file. */
const nameFormats: ReadonlySet<unknown> = new Set(['name', 'quota-name', undefined]);

function errorsOf(tree: unknown): readonly ShapeError[] {
  return fits(tree) ? [] : (fits.errors ?? []);
}

/** A text may fail its format only because it holds a number: `workers` is a number or "auto". */
function convert(tree: unknown, { parentSchema, data, instancePath }: ShapeError): boolean {
  const value = scalarOf(String(data), [parentSchema?.['type']].flat());
  const spot = spotOf(tree, instancePath);
  if (value === undefined || spot === undefined) return false;
  return Reflect.set(spot.holder, spot.key, value);
}

/** What a text is to the letter, if that is one of these types. */
export function scalarOf(text: string, types: readonly unknown[]): number | boolean | undefined {
  if (types.includes('boolean') && /^(?:true|false)$/.test(text)) return text === 'true';
  if (types.includes('integer') && /^-?\d{1,16}$/.test(text)) return Number(text);
  return undefined;
}

/** An item of a list leaves a hole that is closed only at the end: until then the pointers to later items stay right. */
function removeAll(tree: unknown, pointers: readonly string[]): void {
  const torn = new Set<unknown[]>();
  for (const pointer of pointers) {
    const spot = spotOf(tree, pointer);
    if (spot === undefined) continue;
    Reflect.deleteProperty(spot.holder, spot.key);
    if (Array.isArray(spot.holder)) torn.add(spot.holder);
  }
  for (const list of torn) closeHoles(list);
}

function closeHoles(list: unknown[]): void {
  const kept = list.flat(0);
  for (const [at, item] of kept.entries()) list[at] = item;
  list.length = kept.length;
}

function spotOf(tree: unknown, pointer: string): { holder: object; key: string } | undefined {
  const holder = valueAt(tree, holderOf(pointer));
  const key = stepsOf(pointer).at(-1);
  return key !== undefined && isContainer(holder) && Object.hasOwn(holder, key) ? { holder, key } : undefined;
}
