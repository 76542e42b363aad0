import type { LineCounter } from 'yaml';
import { isContainer } from '../../content/is-object.ts';
import { pointerTo, stepsOf, type Path } from '../json-pointer.ts';
import { isPlainName, startOfName } from '../wording.ts';

interface Place {
  readonly path: Path;
  /** Offset of the key, or of the value where it has no key. */
  readonly offset: number;
  /** Whether the value, or a part of it, came from the environment or a file. Then no message shows it. */
  readonly expanded: boolean;
}

/** Remembers where in the file each value stands, by its JSON pointer and, for mappings and lists, by identity. */
export class Places {
  readonly #places = new Map<string, Place>();
  readonly #pointers = new WeakMap<object, string>();
  readonly #unknown = new Set<string>();
  readonly #lines: LineCounter;

  constructor(lines: LineCounter) {
    this.#lines = lines;
  }

  /** Notes where a value stands. */
  mark({ path, offset }: Omit<Place, 'expanded'>, value: unknown, expanded = false): void {
    const pointer = pointerTo(path);
    this.#places.set(pointer, { path, offset, expanded });
    if (isContainer(value)) this.#pointers.set(value, pointer);
  }

  /** Notes that the key at the pointer is unknown, so it may be a secret: no path shows it whole. */
  markUnknown(pointer: string): void {
    this.#unknown.add(pointer);
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
    if (place !== undefined) {
      const print = this.#unknown.has(pointer) ? printUnknown : printPath;
      return { ...this.position(place.offset), path: print(place.path) };
    }
    if (pointer === '') return { line: 1, column: 1, path: '' };
    const holder = this.locate(pointer.slice(0, pointer.lastIndexOf('/')));
    const step = stepsOf(pointer).at(-1) ?? '';
    return { ...holder, path: `${holder.path}${printStep(step)}`.replace(/^\./, '') };
  }

  /** Line and column, both from 1, of an offset in the text. */
  position(offset: number): { readonly line: number; readonly column: number } {
    const { line, col } = this.#lines.linePos(offset);
    return { line: Math.max(line, 1), column: Math.max(col, 1) };
  }
}

function printPath(path: Path): string {
  return path
    .map((step) => (typeof step === 'number' ? `[${step}]` : printStep(step)))
    .join('')
    .replace(/^\./, '');
}

/** A typing error still looks like an option; digits between letters, dashes or other signs do not. */
function printUnknown(path: Path): string {
  const name = String(path.at(-1));
  if (/^[A-Za-z]{1,30}\d{0,5}$/.test(name)) return printPath(path);
  return `${printPath(path.slice(0, -1))}[${JSON.stringify(startOfName(name))}]`;
}

function printStep(step: string): string {
  return isPlainName(step) || step === '<<' ? `.${step}` : `[${JSON.stringify(startOfName(step))}]`;
}
