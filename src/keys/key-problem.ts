type KeyProblemCode =
  | 'not_found'
  | 'conflict'
  | 'invalid'
  /** The key is not at the version that the caller has seen. */
  | 'outdated'
  /** The caller has used this name for another request. */
  | 'reused';

export interface FieldFault {
  /** As the field is written: `quotas[0].limit`. */
  readonly field: string;
  /** To be read after the field. It never repeats what was given: a secret may have been put in the wrong place. */
  readonly message: string;
}

/** Thrown by the key book: the caller asked for what cannot be done, and nothing was changed. */
export class KeyProblem extends Error {
  readonly code: KeyProblemCode;
  readonly faults: readonly FieldFault[];

  constructor(code: KeyProblemCode, message: string, faults: readonly FieldFault[] = []) {
    super(message);
    this.name = 'KeyProblem';
    this.code = code;
    this.faults = faults;
  }
}

/** Thrown where a file of keys makes no sense from some line on, so that nothing more can be read from it. */
export class BrokenFile extends KeyProblem {
  constructor(line: number, message: string) {
    const sentence = `line ${line} ${message}`;
    super('invalid', sentence, [{ field: '', message: sentence }]);
    this.name = 'BrokenFile';
  }
}

/** The problem of invalid fields, with all of them in one sentence. */
export function invalidFields(faults: readonly FieldFault[]): KeyProblem {
  const text = faults
    .map(({ field, message }) => (field === '' ? message : `${field} ${message}`))
    .join('; ');
  return new KeyProblem('invalid', text, faults);
}

export function invalidField(field: string, message: string): KeyProblem {
  return invalidFields([{ field, message }]);
}

/** Reads all parts, and says what is wrong in all of them at once. */
export function readTogether<Parts extends readonly unknown[]>(
  ...reads: { readonly [Part in keyof Parts]: () => Parts[Part] }
): Parts {
  const faults: FieldFault[] = [];
  const parts = reads.map((read) => {
    try {
      return read();
    } catch (error) {
      if (!(error instanceof KeyProblem) || error.code !== 'invalid') throw error;
      faults.push(...error.faults);
      return undefined;
    }
  });
  if (faults.length > 0) throw invalidFields(faults);
  return parts as unknown as Parts;
}
