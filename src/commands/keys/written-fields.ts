import { lastInstant, parseInstant } from '../../config/instants.ts';
import { parseDuration } from '../../config/units.ts';
import { readLabels, readQuota } from '../../keys/compact-fields.ts';
import type { WrittenFields } from '../../keys/key-fields.ts';
import { invalidField } from '../../keys/key-problem.ts';

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

/** Flags → fields as the key book reads them. A field without a flag is undefined. */
export function readFlags(flags: FieldFlags, now: number): WrittenFields {
  return {
    plan: flags.plan,
    name: flags.name,
    owner: flags.owner,
    scopes: flags.scope,
    labels: flags.label === undefined ? undefined : readLabels(flags.label),
    networks: flags.network,
    quotas: flags.quota?.map(readQuota),
    notBefore: readInstant('--not-before', flags.notBefore, now),
    expiresAt: readInstant('--expires', flags.expires, now),
  };
}

/** A date, or how long from now: `90d`. `never` empties the field. */
function readInstant(flag: string, text: string | undefined, now: number): string | null | undefined {
  if (text === undefined) return undefined;
  if (text === 'never') return null;
  const at = now + (parseDuration(text) ?? Infinity);
  if (at <= lastInstant) return new Date(at).toISOString();
  if (parseInstant(text) !== undefined) return text;
  const message = 'is not a date, write 2026-12-31, 2026-12-31T18:00:00Z, 7d or never';
  throw invalidField(flag, message);
}
