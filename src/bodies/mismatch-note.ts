/** Where it is noted how a body does not fit its schema, if that is only reported: in the sentence of the refusal, without values. */
export interface MismatchNote {
  mismatch: string | undefined;
}
