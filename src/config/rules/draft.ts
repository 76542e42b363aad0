import type { RawConfig } from '../schema.ts';

/** What the rules between fields look at: everything that fits the schema, even if something elsewhere does not. */
export interface Draft {
  readonly config: RawConfig;
  /** The names as written, also those whose content is wrong: a reference to them is not wrong too. */
  readonly declared: Readonly<Record<'upstreams' | 'plans' | 'versions', readonly string[]>>;
}

/** How a rule says what it found, at an option of a mapping. */
export interface Report {
  readonly problem: (holder: object, option: string, message: string) => void;
  /** The same at a JSON pointer below a mapping. */
  readonly problemBelow: (holder: object, pointer: string, message: string) => void;
  readonly warning: (holder: object, option: string, message: string) => void;
  /** `routes[1] (line 40)`, to point from one place to another. */
  readonly mention: (holder: object) => string;
}

/** One thing that must hold between fields. */
export type Rule = (draft: Draft, report: Report) => void;
