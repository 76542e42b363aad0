import { printSize } from '../config/units.ts';
import { Refusal, soon } from '../refusals.ts';

/** Refuses a body that two parsers could read differently; the reason says what was found. */
export function ambiguous(reason: string): Refusal {
  return new Refusal('file_ambiguous', {
    message: `The form is not in canonical form: ${reason}`,
    detail: reason,
  });
}

/** Refuses an upload without the file that a sentence calls `label`. */
export function missing(label: string, detail?: string): Refusal {
  return new Refusal('file_missing', { message: `${label} is missing`, detail });
}

/** Refuses an upload whose fault has no code of its own; the detail is for the log. */
export function invalid(message: string, detail?: string): Refusal {
  return new Refusal('body_invalid', { message, detail });
}

/** Refuses an upload, or a file in it, of a type or name that is not taken. */
export function unsupported(message: string, detail?: string): Refusal {
  return new Refusal('file_unsupported', { message, detail });
}

export function fileTooLarge(label: string, sizeMax: number): Refusal {
  return new Refusal('file_too_large', { message: `${label} must be at most ${printSize(sizeMax)}` });
}

export function fileTooSmall(label: string, sizeMin: number): Refusal {
  return invalid(`${label} must be at least ${printSize(sizeMin)}`);
}

/** Refuses an upload for which the gateway has no room or no time, and which may be sent again as it is. */
export function busy(detail: string, cause?: unknown): Refusal {
  return new Refusal('spool_full', { detail, cause, headers: soon });
}
