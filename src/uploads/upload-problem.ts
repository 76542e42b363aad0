/** Why an upload is turned away. */
export type UploadProblemCode =
  | 'file_missing'
  | 'file_too_large'
  | 'body_too_large'
  | 'file_unsupported'
  | 'file_ambiguous'
  | 'body_invalid'
  | 'spool_full';

/** What the checks throw. The message is for the client: it names fields and limits of the rule, never what was sent. */
export class UploadProblem extends Error {
  readonly code: UploadProblemCode;
  /** For the log: which check failed. It holds no value the client sent either. */
  readonly detail: string | undefined;

  constructor(code: UploadProblemCode, message: string, detail?: string) {
    super(message);
    this.name = 'UploadProblem';
    this.code = code;
    this.detail = detail;
  }
}

/** The problem of a body that two parsers could read differently; the reason says which form was met. */
export function ambiguous(reason: string): UploadProblem {
  return new UploadProblem('file_ambiguous', `The form is not in canonical form: ${reason}`, reason);
}

/** The problem of an upload for which the gateway has no room or no time, and which may be sent again as it is. */
export function busy(detail: string): UploadProblem {
  return new UploadProblem('spool_full', 'The service is busy, try again shortly', detail);
}
