import { formats } from '../formats.ts';
import type { Sentence } from '../problems.ts';
import type { RawBody, RawConfig, RawUpload } from '../schema.ts';
import { show, suggest } from '../wording.ts';

/** What the rules between fields look at: everything that fits the schema, even if something elsewhere does not. */
export interface Draft {
  readonly config: RawConfig;
  /**
   * The names as written, even if their content is wrong: a reference to them is not wrong too. Undefined where a section is
   * misspelt or not a mapping, or must not be missing: nothing can be said of references into it.
   */
  readonly declared: Readonly<Record<'upstreams' | 'plans' | 'versions', readonly string[] | undefined>>;
}

/** How a rule says what it found, at an option of a mapping. */
export interface Report {
  readonly problem: (holder: object, option: string, message: Sentence) => void;
  /** The same at a JSON pointer below a mapping. */
  readonly problemBelow: (holder: object, pointer: string, message: string) => void;
  readonly warning: (holder: object, option: string, message: string) => void;
  /** Whether one of these options does not fit the schema, so that its absence from the draft means nothing. */
  readonly isBroken: (holder: object, ...options: readonly string[]) => boolean;
  /** Whether a value came from the environment or a file, so that no sentence may show it. */
  readonly isHidden: (holder: object, option: string) => boolean;
  /** `routes[1] (line 40)`, to point from one place to another. */
  readonly mention: (holder: object) => string;
}

/**
 * The sentence for a name that nothing in the file has. The name is undefined if it came from the environment or a file, and must
 * not be shown. Names that are not valid are not suggested either.
 */
export function noSuch(kind: string, name: string | undefined, declared: readonly string[]): string {
  const names = declared.filter((one) => formats.name.fault(one) === undefined);
  return `there is no ${kind} ${name === undefined ? 'of this name' : show(name)}${suggest(name ?? '', names)}`;
}

/** An option that names a plan or an upstream must name one that is there. */
export function checkName<Option extends 'plan' | 'upstream'>(
  holder: Readonly<Partial<Record<Option, string>>>,
  option: Option,
  { declared }: Draft,
  report: Report,
): void {
  const text = holder[option];
  const names = declared[`${option}s`];
  if (text === undefined || names === undefined || names.includes(text)) return;
  if (report.isBroken(holder, option)) return;
  const shown = report.isHidden(holder, option) ? undefined : text;
  report.problem(holder, option, () => noSuch(option, shown, names));
}

/** No two may have the same value at this option. */
export function checkDistinct<Option extends 'id' | 'name'>(
  holders: readonly Readonly<Partial<Record<Option, string>>>[],
  option: Option,
  report: Report,
): void {
  for (const [holder, first] of duplicatesOf(holders, (one) => one[option]))
    report.problem(holder, option, `is the ${option} of ${report.mention(first)} too`);
}

/** Each item whose value an earlier one has, with the first that has it. Items without a value are left out. */
export function duplicatesOf<T>(
  all: readonly T[],
  valueOf: (one: T) => string | undefined,
): readonly (readonly [duplicate: T, first: T])[] {
  const firsts = new Map<string, T>();
  return all.flatMap((one) => {
    const value = valueOf(one);
    const first = value === undefined ? one : firsts.getOrInsert(value, one);
    return first === one ? [] : [[one, first] as const];
  });
}

/** The bodies that are taken; `none` is not among them. */
export function bodiesOf({ routes }: RawConfig): readonly RawBody[] {
  return routes.flatMap(({ body }) => (typeof body === 'string' ? [] : body));
}

/** The forms among them. */
export function formsOf(config: RawConfig): readonly RawUpload[] {
  return bodiesOf(config).flatMap(({ upload }) => upload ?? []);
}

/** One thing that must hold between fields. */
export type Rule = (draft: Draft, report: Report) => void;
