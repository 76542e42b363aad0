import { lastInstant } from '../../config/instants.ts';
import { parseDuration } from '../../config/units.ts';
import type { WrittenFields } from '../../keys/key-fields.ts';
import { readLabels, readQuota } from '../../keys/compact-fields.ts';

/** The flags by which the fields of a key are given. */
export interface FieldFlags {
  readonly plan?: string;
  readonly name?: string;
  readonly owner?: string;
  readonly scope?: readonly string[];
  readonly label?: readonly string[];
  readonly network?: readonly string[];
  readonly quota?: readonly string[];
  readonly notBefore?: string;
  readonly expires?: string;
}

/** Flags → fields as the key book reads them. What no flag says is not in it. */
export function readFlags(flags: FieldFlags, now: number): WrittenFields {
  return {
    plan: flags.plan,
    name: flags.name,
    owner: flags.owner,
    scopes: flags.scope,
    labels: flags.label === undefined ? undefined : readLabels(flags.label),
    networks: flags.network,
    quotas: flags.quota?.map(readQuota),
    notBefore: flags.notBefore === undefined ? undefined : readMoment(flags.notBefore, now),
    expiresAt: flags.expires === undefined ? undefined : readMoment(flags.expires, now),
  };
}

/** A date, or how long from now: `90d`. `never` empties the field. What leads to no date is left as it is, to be refused. */
function readMoment(text: string, now: number): string | null {
  if (text === 'never') return null;
  const at = now + (parseDuration(text) ?? Infinity);
  return at <= lastInstant ? new Date(at).toISOString() : text;
}
