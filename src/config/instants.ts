const dateOnly = /^\d{4}-\d{2}-\d{2}$/;
const withZone = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}(:\d{2}(\.\d{1,9})?)?(Z|[+-]\d{2}:\d{2})$/;

/** The regular expression of both forms, for editors. */
export const instantPattern = `(${dateOnly.source})|(${withZone.source})`;

/** What is said of text in neither. */
export const notInstant = 'is not a date, write 2026-12-31 or 2026-12-31T18:00:00Z';

const firstInstant = Date.parse('0000-01-01T00:00:00Z');
/** The last with a four-digit year in UTC, as RFC 3339 writes it. */
export const lastInstant = Date.parse('9999-12-31T23:59:59.999Z');

/**
 * An ISO 8601 date (midnight UTC) or date and time with a zone, in milliseconds since the epoch; undefined for anything else,
 * including days that do not exist and years with more than four digits in UTC. `Date.parse` would quietly make 2 March of 30
 * February.
 */
export function parseInstant(text: string): number | undefined {
  const at = readInstant(text);
  return at !== undefined && at >= firstInstant && at <= lastInstant ? at : undefined;
}

/** An instant as JSON has it: in ISO 8601, and `null` for never. */
export function writeInstant(at: number | undefined): string | null {
  return at === undefined ? null : new Date(at).toISOString();
}

function readInstant(text: string): number | undefined {
  try {
    if (dateOnly.test(text)) return Temporal.PlainDate.from(text).toZonedDateTime('UTC').epochMilliseconds;
    if (withZone.test(text)) return Temporal.Instant.from(text).epochMilliseconds;
    return undefined;
  } catch {
    return undefined;
  }
}
