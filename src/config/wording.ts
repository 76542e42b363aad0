import { closest, distance } from 'fastest-levenshtein';

const shownMax = 40;
const namesMax = 20;

/** A value as a sentence may show it: short, on one line, without the credentials of a URL. */
export function show(value: unknown): string {
  if (value === null || value === undefined) return 'nothing';
  if (Array.isArray(value)) return 'a list';
  if (typeof value === 'object') return 'a mapping';
  if (typeof value === 'number' || typeof value === 'boolean') return String(value);
  if (typeof value !== 'string') return typeof value;
  const safe = withoutCredentials(value);
  return JSON.stringify(safe.length > shownMax ? `${safe.slice(0, shownMax)}…` : safe);
}

/** `, did you mean "upstream"?` when one of the names is near, otherwise the names themselves, otherwise nothing. */
export function suggest(wrong: string, names: readonly string[]): string {
  const best = nearest(wrong, names);
  if (best !== undefined) return `, did you mean "${best}"?`;
  return names.length > 0 ? `, choose from ${names.slice(0, namesMax).join(', ')}` : '';
}

function withoutCredentials(text: string): string {
  const from = text.indexOf('//');
  const to = text.lastIndexOf('@');
  return from === -1 || to < from ? text : `${text.slice(0, from)}//***${text.slice(to)}`;
}

function nearest(wrong: string, names: readonly string[]): string | undefined {
  const exact = names.find((name) => name.toLowerCase() === wrong.toLowerCase());
  if (exact !== undefined || names.length === 0 || wrong.length > 100) return exact;
  const best = closest(wrong, names);
  const shorter = Math.min(wrong.length, best.length);
  const most = shorter < 2 ? 0 : Math.max(1, Math.floor(shorter / 3));
  return distance(wrong.toLowerCase(), best.toLowerCase()) <= most ? best : undefined;
}
