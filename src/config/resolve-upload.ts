import type { BodyCheck } from './body-schema/compile-schema.ts';
import { readFieldKinds } from './body-schema/field-kinds.ts';
import { duration, size } from './checked.ts';
import type { BodyRule } from './config.ts';
import type { RawBody, RawUpload } from './schema.ts';
import type { FileRule } from './upload-rule.ts';

type RawFile = NonNullable<RawBody['file']>;

/** The rule of a form. */
export function resolveForm(form: RawUpload, check: BodyCheck | undefined): BodyRule {
  const { maxCount, maxSize, names, schema } = form.fields;
  const upload = {
    kind: 'form',
    sizeMax: size(form.maxSize),
    files: new Map(
      Object.entries(form.files).map(([name, field]) => [name, resolveField(field, form.maxSize)]),
    ),
    fields: {
      countMax: maxCount,
      sizeMax: size(maxSize),
      names,
      check,
      kinds: readFieldKinds(schema ?? {}),
    },
    others: form.others,
    forward: form.forward,
  } as const;
  return { kind: 'upload', upload, arrival: arrivalOf(form) };
}

function resolveField(field: RawUpload['files'][string], formSize: string): FileRule {
  return {
    required: field.required,
    countMax: field.maxCount,
    sizeMax: size(field.maxSize ?? formSize),
    sizeMin: size(field.minSize),
    types: field.types,
    extensions: field.extensions,
    nameLengthMax: field.nameLength,
  };
}

/** The rule of a bare file. */
export function resolveFile(file: RawFile): BodyRule {
  const upload = {
    kind: 'file',
    sizeMax: size(file.maxSize),
    sizeMin: size(file.minSize),
    types: file.types,
    forward: file.forward,
  } as const;
  return { kind: 'upload', upload, arrival: arrivalOf(file) };
}

function arrivalOf({ minRate, timeout }: Pick<RawFile, 'minRate' | 'timeout'>) {
  return { timeoutMs: duration(timeout), bytesPerSecondMin: size(minRate) };
}
