/**
 * Says what is wrong with a value in one sentence that names the field and the rule, never the value;
 * undefined when the value is valid.
 */
export type BodyCheck = (value: unknown) => string | undefined;
