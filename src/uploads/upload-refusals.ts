import { Refusal } from '../refusals.ts';

/** Refuses a body that two parsers could read differently; the reason says what was found. */
export function ambiguous(reason: string): Refusal {
  return new Refusal('file_ambiguous', {
    message: `The form is not in canonical form: ${reason}`,
    detail: reason,
  });
}

/** Refuses an upload for which the gateway has no room or no time, and which may be sent again as it is. */
export function busy(detail: string): Refusal {
  return new Refusal('spool_full', { detail, headers: { 'Retry-After': '1' } });
}
