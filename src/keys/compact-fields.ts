import type { WrittenFields } from './key-fields.ts';
import { invalidField } from './key-problem.ts';

/** `team=voice` each. */
export function readLabels(labels: readonly string[]): Readonly<Record<string, string>> {
  const pairs = labels.map((label) => {
    const at = label.indexOf('=');
    if (at < 1) throw invalidField('label', 'is written name=value');
    return [label.slice(0, at), label.slice(at + 1)] as const;
  });
  if (new Set(pairs.map(([name]) => name)).size < pairs.length) {
    throw invalidField('label', 'has a name twice');
  }
  return Object.fromEntries(pairs);
}

/** `monthly=5000`, or with a period of its own `daily=200/day@Europe/Berlin`. */
export function readQuota(quota: string): WrittenFields {
  const parts = /^(?<name>[^=]+)=(?<limit>\d{1,16})(?:\/(?<per>[a-z]+)(?:@(?<timezone>\S+))?)?$/.exec(
    quota,
  )?.groups;
  if (parts === undefined) {
    throw invalidField('quota', 'is written monthly=5000 or daily=200/day@Europe/Berlin');
  }
  return { ...parts, limit: Number(parts['limit']) };
}
