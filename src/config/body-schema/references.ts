import { normalizeId, resolveUrl } from 'ajv/dist/compile/resolve.js';
import uri from 'ajv/dist/runtime/uri.js';
import { isContainer, isObject } from '../../content/is-object.ts';
import { childPointer, isAtOrBelow, valueAt } from '../json-pointer.ts';
import type { SchemaProblem } from './schema-problem.ts';
import type { Subschema } from './subschemas.ts';

/** What is wrong with the references of a schema, given its parts, outermost first. */
export function referenceProblems(parts: readonly Subschema[]): readonly SchemaProblem[] {
  const references = new References(parts);
  const problems = parts.flatMap((part) => lostReferences(part, references));
  const endless = findCircle(parts, references);
  if (endless === undefined) return problems;
  // It may be where no schema belongs, such as in `const`.
  const { pointer = '' } = parts.find(({ schema }) => schema === endless) ?? {};
  return [...problems, { pointer, message: 'the schema refers to itself without end' }];
}

function lostReferences({ schema, pointer }: Subschema, references: References): readonly SchemaProblem[] {
  const lost = referencesOf(schema).filter(
    ([, reference]) => references.targetOf(schema, reference) === undefined,
  );
  return lost.map(([keyword, reference]) => ({
    pointer: childPointer(pointer, keyword),
    message: `"${reference}" is nowhere in this schema, and a reference cannot leave it`,
  }));
}

type Schema = Subschema['schema'];

class References {
  /** A schema with an `$id`, and the whole one always: references inside start at its address. */
  readonly #pieces: { readonly pointer: string; readonly base: string }[] = [];
  readonly #baseOf = new Map<Schema, string>();
  /** Parts with a name of their own, by address. */
  readonly #named = new Map<string, Schema>();

  constructor(parts: readonly Subschema[]) {
    for (const { schema, pointer } of parts) {
      const { $id, $anchor, $dynamicAnchor } = schema;
      const above = this.#pieces.findLast((piece) => isAtOrBelow(pointer, piece.pointer));
      let base = above?.base ?? '';
      if (above === undefined || $id !== undefined) {
        const id = typeof $id === 'string' ? $id : '';
        base = addressOf(id, base)?.piece ?? id;
        this.#pieces.push({ pointer, base });
        this.#named.set(base, schema);
      }
      this.#baseOf.set(schema, base);
      for (const anchor of [$anchor, $dynamicAnchor]) {
        if (typeof anchor === 'string') this.#named.set(`${base}#${anchor}`, schema);
      }
    }
  }

  /** Undefined when it leads nowhere. */
  targetOf(from: Schema, reference: string): unknown {
    const base = this.#baseOf.get(from) ?? this.#pieces[0]?.base ?? '';
    const address = addressOf(reference, base);
    if (address === undefined) return undefined;
    const { piece, fragment } = address;
    const isPointer = fragment === '' || fragment.startsWith('/');
    return isPointer ? valueAt(this.#named.get(piece), fragment) : this.#named.get(`${piece}#${fragment}`);
  }
}

/** What is before the `#` and what is after it, as the compiler reads them. Undefined if it is not an address. */
function addressOf(reference: string, base: string): { piece: string; fragment: string } | undefined {
  try {
    const [piece = '', fragment = ''] = normalizeId(resolveUrl(uri.default, base, reference)).split('#');
    return { piece, fragment: decodeURIComponent(fragment) };
  } catch {
    return undefined;
  }
}

function referencesOf(schema: Schema): readonly (readonly [keyword: string, reference: string])[] {
  return ['$ref', '$dynamicRef'].flatMap((keyword) => {
    const reference = schema[keyword];
    return typeof reference === 'string' ? [[keyword, reference] as const] : [];
  });
}

/** A schema that could meet the same value again: a check would never end. */
function findCircle(parts: readonly Subschema[], references: References): Schema | undefined {
  const ending = new Set<Schema>();
  /** The way to the schema that is looked at. */
  const way = new Set<Schema>();
  const left = parts.map((part) => part.schema).toReversed();
  for (let schema = left.at(-1); schema !== undefined; schema = left.at(-1)) {
    if (ending.has(schema) || way.delete(schema)) {
      // All that it leads to has been looked at.
      ending.add(schema);
      left.pop();
      continue;
    }
    way.add(schema);
    for (const other of handOvers(schema, references)) {
      if (way.has(other)) return other;
      left.push(other);
    }
  }
  return undefined;
}

/** The schemas that look at the same value as this one does: those it refers to, and some inside it. */
function handOvers(schema: Schema, references: References): readonly Schema[] {
  const targets = referencesOf(schema).map(([, reference]) => references.targetOf(schema, reference));
  const lists = ['allOf', 'anyOf', 'oneOf', 'dependentSchemas', 'dependencies'].map((key) => schema[key]);
  const members = lists.flatMap((list) => (isContainer(list) ? Object.values(list) : []));
  const single = ['if', 'then', 'else', 'not'].map((key) => schema[key]);
  return [...targets, ...single, ...members].filter(isObject);
}
