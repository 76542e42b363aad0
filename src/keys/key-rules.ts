import type { Config } from '../config/config.ts';
import type { PlanRule } from '../config/plan-rule.ts';
import type { KeyStore } from '../stores/key-store.ts';
import { createKeyFormat, type KeyFormat } from './key-format.ts';

/** What the configuration says that keys are checked against. */
export interface KeyRules {
  readonly format: KeyFormat;
  readonly plans: ReadonlyMap<string, PlanRule>;
  readonly routes: readonly { readonly name: string; readonly path: string }[];
  /** The keys of the YAML, by digest and by id: the store is given no key of the same id. */
  readonly staticKeys: Config['keys'];
}

export interface KeyTools {
  readonly store: KeyStore;
  readonly rules: KeyRules;
  readonly now: () => number;
}

export function createKeyRules(config: Pick<Config, 'auth' | 'plans' | 'routes' | 'keys'>): KeyRules {
  return {
    format: createKeyFormat(config.auth.prefix),
    plans: config.plans,
    routes: config.routes,
    staticKeys: config.keys,
  };
}
