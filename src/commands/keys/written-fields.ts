import { parseInstant } from '../../config/instants.ts';
import { parseDuration } from '../../config/units.ts';
import type { WrittenFields } from '../../keys/key-fields.ts';
import { invalidFields } from '../../keys/key-problem.ts';

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

/** `team=voice` each. */
export function readLabels(labels: readonly string[]): Readonly<Record<string, string>> {
  return Object.fromEntries(
    labels.map((label) => {
      const at = label.indexOf('=');
      if (at < 1) throw invalidFields([{ field: 'label', message: 'is written name=value' }]);
      return [label.slice(0, at), label.slice(at + 1)];
    }),
  );
}

/** `monthly=5000`, or with a period of its own `daily=200/day@Europe/Berlin`. */
export function readQuota(quota: string): WrittenFields {
  const parts = /^(?<name>[^=]+)=(?<limit>\d{1,16})(?:\/(?<per>[a-z]+)(?:@(?<timezone>\S+))?)?$/.exec(
    quota,
  )?.groups;
  if (parts === undefined) {
    throw invalidFields([
      { field: 'quota', message: 'is written monthly=5000 or daily=200/day@Europe/Berlin' },
    ]);
  }
  return { ...parts, limit: Number(parts['limit']) };
}

/** A date, or how long from now: `90d`. `never` empties the field. */
function readMoment(text: string, now: number): string | null {
  if (text === 'never') return null;
  const duration = parseDuration(text);
  if (duration !== undefined && parseInstant(text) === undefined)
    return new Date(now + duration).toISOString();
  return text;
}
