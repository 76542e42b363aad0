import * as bodies from './rules/bodies.ts';
import * as callers from './rules/callers.ts';
import type { Rule } from './rules/draft.ts';
import * as errors from './rules/errors.ts';
import * as fileTypes from './rules/file-types.ts';
import * as limits from './rules/limits.ts';
import * as listeners from './rules/listeners.ts';
import * as plans from './rules/plans.ts';
import * as processRules from './rules/process.ts';
import * as routes from './rules/routes.ts';
import * as secrets from './rules/secrets.ts';
import * as uploads from './rules/uploads.ts';
import * as upstreams from './rules/upstreams.ts';

/**
 * Everything that must hold between the fields of a configuration, beyond what the schema says about each: all that these files
 * export. No rule knows what another has found, so their order says nothing.
 */
export const rules: readonly Rule[] = [
  bodies,
  callers,
  errors,
  fileTypes,
  limits,
  listeners,
  plans,
  processRules,
  routes,
  secrets,
  uploads,
  upstreams,
].flatMap((file) => Object.values(file));
