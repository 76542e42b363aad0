const dateOnly = /^\d{4}-\d{2}-\d{2}$/;
const withZone = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}(:\d{2}(\.\d{1,9})?)?(Z|[+-]\d{2}:\d{2})$/;

/** The regular expression of both forms, for editors. */
export const instantPattern = `(${dateOnly.source})|(${withZone.source})`;

/**
 * An ISO 8601 date (midnight UTC) or date and time with a zone, in milliseconds since the epoch; undefined for
 * anything else, including days that are in no calendar. `Date.parse` would quietly make 2 March of 30 February.
 */
export function parseInstant(text: string): number | undefined {
  try {
    if (dateOnly.test(text)) return Temporal.PlainDate.from(text).toZonedDateTime('UTC').epochMilliseconds;
    if (withZone.test(text)) return Temporal.Instant.from(text).epochMilliseconds;
    return undefined;
  } catch {
    return undefined;
  }
}
