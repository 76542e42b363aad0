import type { LineCounter } from 'yaml';
import { isContainer } from '../../content/is-object.ts';
import { holderOf, stepsOf } from '../json-pointer.ts';
import { isPlainName, startOfName } from '../wording.ts';

/** Where a value stands in the file. */
export interface Spot {
  readonly pointer: string;
  /** As messages show it: `routes[0].upstream`. */
  readonly path: string;
  /** Offset of the key, or of the value where it has no key. */
  readonly offset: number;
}

interface Place extends Omit<Spot, 'pointer'> {
  /** Whether the value, or a part of it, came from the environment or a file. Then no message shows it. */
  readonly expanded: boolean;
}

/** Remembers where in the file each value stands, by its JSON pointer and, for mappings and lists, by identity. */
export class Places {
  readonly #places = new Map<string, Place>();
  readonly #pointers = new WeakMap<object, string>();
  readonly #lines: LineCounter;

  constructor(lines: LineCounter) {
    this.#lines = lines;
  }

  /** Notes where a value stands. */
  mark({ pointer, path, offset }: Spot, value: unknown, expanded = false): void {
    this.#places.set(pointer, { path, offset, expanded });
    if (isContainer(value)) this.#pointers.set(value, pointer);
  }

  /**
   * Notes that the key at the pointer is unknown, so it may be a secret: its path does not show it whole. A typing error still looks
   * like an option; digits between letters, dashes or other signs do not.
   */
  markUnknown(pointer: string): void {
    const place = this.#places.get(pointer);
    const name = stepsOf(pointer).at(-1) ?? '';
    if (place === undefined || /^[A-Za-z]{1,30}\d{0,5}$/.test(name)) return;
    const path = pathToStart(this.locate(holderOf(pointer)).path, name);
    this.#places.set(pointer, { ...place, path });
  }

  /** Whether the value at the pointer came from outside the file. */
  isExpanded(pointer: string): boolean {
    return this.#places.get(pointer)?.expanded ?? false;
  }

  /** The pointer of a mapping or list that was read from the file; undefined for one that a default made. */
  pointerOf(holder: object): string | undefined {
    return this.#pointers.get(holder);
  }

  /** Line, column and readable path of a pointer; those of its holder when nothing is at the pointer itself. */
  locate(pointer: string): { readonly line: number; readonly column: number; readonly path: string } {
    const place = this.#places.get(pointer);
    if (place !== undefined) return { ...this.position(place.offset), path: place.path };
    if (pointer === '') return { line: 1, column: 1, path: '' };
    const holder = this.locate(holderOf(pointer));
    return { ...holder, path: pathOfPart(holder.path, stepsOf(pointer).at(-1) ?? '') };
  }

  /** Line and column, both from 1, of an offset in the text. */
  position(offset: number): { readonly line: number; readonly column: number } {
    const { line, col } = this.#lines.linePos(offset);
    return { line: Math.max(line, 1), column: Math.max(col, 1) };
  }
}

/** The path of what is one step further down. */
export function pathOfPart(path: string, step: string | number): string {
  if (typeof step === 'number') return `${path}[${step}]`;
  if (!isPlainName(step) && step !== '<<') return pathToStart(path, step);
  return path === '' ? step : `${path}.${step}`;
}

function pathToStart(path: string, name: string): string {
  return `${path}[${JSON.stringify(startOfName(name))}]`;
}
