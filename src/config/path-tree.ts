import type { Segment } from './route-path.ts';

/** Paths by their segments: to find one takes no longer among thousands. */
export class PathTree<Value> {
  /** What texts have in common that count as equal. */
  readonly #keyOf: (text: string) => string;
  readonly #literals = new Map<string, PathTree<Value>>();
  #named: PathTree<Value> | undefined;
  #rest: Value | undefined;
  #end: Value | undefined;
  /** Nothing has been added. */
  isEmpty = true;

  constructor(keyOf: (text: string) => string) {
    this.#keyOf = keyOf;
  }

  /** Of several that are the same the first one counts. */
  add([first, ...others]: readonly Segment[], value: Value): void {
    this.isEmpty = false;
    if (first === undefined) this.#end ??= value;
    else if (first.kind === 'rest') this.#rest ??= value;
    else this.#below(first).add(others, value);
  }

  #below(segment: Exclude<Segment, { kind: 'rest' }>): PathTree<Value> {
    const create = (): PathTree<Value> => new PathTree(this.#keyOf);
    if (segment.kind === 'name') return (this.#named ??= create());
    return this.#literals.getOrInsertComputed(this.#keyOf(segment.text), create);
  }

  /** The most exact one that these parts fit, as `fits` of `route-path.ts` says; they are looked at from `at` on. */
  find(parts: readonly string[], at = 0): Value | undefined {
    const part = parts[at];
    if (part === undefined) return this.#end;
    const exact = this.#next(part)?.find(parts, at + 1);
    if (exact !== undefined) return exact;
    return (part === '' ? undefined : this.#named?.find(parts, at + 1)) ?? this.#rest;
  }

  /** Whether some request fits both this pattern and one of these paths; it is looked at from `at` on. */
  meets(pattern: readonly Segment[], at = 0): boolean {
    const segment = pattern[at];
    if (segment === undefined) return this.#end !== undefined;
    if (this.#rest !== undefined) return true;
    if (segment.kind === 'rest') return this.#named !== undefined || this.#literals.size > 0;
    if (this.#named?.meets(pattern, at + 1) === true) return true;
    if (segment.kind === 'literal') return this.#next(segment.text)?.meets(pattern, at + 1) ?? false;
    return this.#literals.values().some((below) => below.meets(pattern, at + 1));
  }

  /** Most texts are their own key, and to ask for it takes longer than to look. */
  #next(part: string): PathTree<Value> | undefined {
    if (this.#literals.size === 0) return undefined;
    return this.#literals.get(part) ?? this.#literals.get(this.#keyOf(part));
  }
}
