import type { SchemaRule } from './body-schema/compile-schema.ts';
import type { FieldKind } from './body-schema/field-kinds.ts';

/** What a route with an upload asks of its body, complete, with no default left open. Sizes are in bytes. */
export type UploadRule = FormRule | BareFileRule;

/** A `multipart/form-data` body (RFC 7578). */
export interface FormRule {
  readonly kind: 'form';
  /** The whole body, delimiters and part headers included. */
  readonly sizeMax: number;
  readonly files: ReadonlyMap<string, FileRule>;
  readonly fields: FieldsRule;
  /** What becomes of files in fields that `files` does not name. */
  readonly others: 'refuse' | 'allow';
  readonly forward: ForwardWay;
}

/** A body that is the bare file, described by the request's own Content-Type. */
export interface BareFileRule {
  readonly kind: 'file';
  readonly sizeMax: number;
  readonly sizeMin: number;
  readonly types: AllowedTypes;
  readonly forward: ForwardWay;
}

/** One file field of a form. */
export interface FileRule {
  readonly required: boolean;
  readonly countMax: number;
  readonly sizeMax: number;
  readonly sizeMin: number;
  readonly types: AllowedTypes;
  /** Lower case, without the dot. A list also makes an extension compulsory; undefined leaves it to the types. */
  readonly extensions: readonly string[] | undefined;
  /** In characters (code points). */
  readonly nameLengthMax: number;
}

/** The text fields of a form, taken together. */
interface FieldsRule {
  readonly countMax: number;
  /** Bytes of one value. */
  readonly sizeMax: number;
  /** The only names taken; undefined takes any. */
  readonly names: readonly string[] | undefined;
  readonly schema: FieldsSchemaRule | undefined;
}

/** Its check gets an object of all text fields: strings, or arrays of them as `kinds` says. */
export interface FieldsSchemaRule extends SchemaRule {
  /** By name. A field not here is a text. */
  readonly kinds: ReadonlyMap<string, FieldKind>;
}

/** `whole`: the upstream sees nothing until all of it passes. `stream`: it is forwarded while it is checked. */
type ForwardWay = 'whole' | 'stream';

/** MIME types such as `audio/wav` or `audio/*`; undefined takes a file of any type. */
export type AllowedTypes = readonly string[] | undefined;
