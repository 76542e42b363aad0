import { normalizeId, resolveUrl } from 'ajv/dist/compile/resolve.js';
import uri from 'ajv/dist/runtime/uri.js';
import type { SchemaProblem } from './schema-problem.ts';
import { childPointer, isAtOrBelow } from './subschemas.ts';
import type { Subschema } from './subschemas.ts';

/** What is wrong with the references of a schema, whose parts these are, outermost first. */
export function referenceProblems(parts: readonly Subschema[]): readonly SchemaProblem[] {
  const references = new References(parts);
  return parts.flatMap((part) => lostReferences(part, references));
}

// --- Internal ---

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

/** A schema with an `$id`, and the whole one in any case: references inside start from there. */
interface Piece extends Subschema {
  readonly base: string;
}

class References {
  readonly #pieces: Piece[] = [];
  readonly #pieceOf = new Map<Schema, Piece>();
  /** What has a name of its own, by its address. */
  readonly #named = new Map<string, Schema>();

  constructor(parts: readonly Subschema[]) {
    for (const part of parts) {
      const { schema, pointer } = part;
      const above = this.#pieces.findLast((piece) => isAtOrBelow(pointer, piece.pointer));
      const piece = above !== undefined && schema['$id'] === undefined ? above : pieceOf(part, above);
      if (piece !== above) this.#pieces.push(piece);
      this.#pieceOf.set(schema, piece);
      for (const anchor of [schema['$anchor'], schema['$dynamicAnchor']]) {
        if (typeof anchor === 'string') this.#named.set(`${piece.base}#${anchor}`, schema);
      }
    }
    for (const { base, schema } of this.#pieces) this.#named.set(base, schema);
  }

  /** Undefined when it leads nowhere. */
  targetOf(from: Schema, reference: string): unknown {
    const base = (this.#pieceOf.get(from) ?? this.#pieces[0])?.base ?? '';
    const address = addressOf(reference, base);
    if (address === undefined) return undefined;
    const { piece, fragment } = address;
    const isPointer = fragment === '' || fragment.startsWith('/');
    return isPointer ? follow(this.#named.get(piece), fragment) : this.#named.get(`${piece}#${fragment}`);
  }
}

function pieceOf({ schema, pointer }: Subschema, above: Piece | undefined): Piece {
  const id = typeof schema['$id'] === 'string' ? schema['$id'] : '';
  return { schema, pointer, base: addressOf(id, above?.base ?? '')?.piece ?? id };
}

/** What is before the `#` and what is behind it, as the compiler reads them. Undefined for what is no address. */
function addressOf(reference: string, base: string): { piece: string; fragment: string } | undefined {
  try {
    const [piece = '', fragment = ''] = normalizeId(resolveUrl(uri.default, base, reference)).split('#');
    return { piece, fragment: decodeURIComponent(fragment) };
  } catch {
    return undefined;
  }
}

/** What is at a JSON pointer (RFC 6901). */
function follow(schema: unknown, pointer: string): unknown {
  let at = schema;
  for (const step of pointer.split('/').slice(1)) {
    const name = step.replaceAll('~1', '/').replaceAll('~0', '~');
    if (typeof at !== 'object' || at === null || !Object.hasOwn(at, name)) return undefined;
    at = Reflect.get(at, name);
  }
  return at;
}

function referencesOf(schema: Schema): readonly (readonly [keyword: string, reference: string])[] {
  return ['$ref', '$dynamicRef'].flatMap((keyword) => {
    const reference = schema[keyword];
    return typeof reference === 'string' ? [[keyword, reference] as const] : [];
  });
}
