import { isObject } from '../../content/is-object.ts';
import { readFieldKinds } from '../body-schema/field-kinds.ts';
import { size } from '../checked.ts';
import { childPointer } from '../json-pointer.ts';
import { printSize } from '../units.ts';
import { counted, showName } from '../wording.ts';
import { bodiesOf, formsOf, type Rule } from './draft.ts';

/** Text fields are held in memory while a form is checked, so one form may not hold many large ones. */
const valuesBytesMax = 4 * 1024 * 1024;

/** A file that fits its field must fit its form. */
export const filesFitBodies: Rule = ({ config }, report) => {
  for (const upload of formsOf(config)) {
    if (report.isBroken(upload, 'maxSize')) continue;
    for (const field of Object.values(upload.files)) {
      if (size(field.minSize) > size(field.maxSize ?? upload.maxSize))
        report.problem(field, 'minSize', 'is more than maxSize');
      if (field.maxSize !== undefined && size(field.maxSize) >= size(upload.maxSize)) {
        report.problem(
          field,
          'maxSize',
          'must be less than maxSize of the upload, which holds the form around it too',
        );
      }
    }
  }
  for (const file of bodiesOf(config).flatMap((body) => body.file ?? [])) {
    if (size(file.minSize) > size(file.maxSize)) report.problem(file, 'minSize', 'is more than maxSize');
  }
};

export const fieldsFitMemory: Rule = ({ config }, report) => {
  for (const { fields } of formsOf(config)) {
    if (fields.maxCount * size(fields.maxSize) <= valuesBytesMax) continue;
    report.problem(
      fields,
      'maxSize',
      `times maxCount is more than ${printSize(valuesBytesMax)}, and text fields are held in memory`,
    );
  }
};

/** A required text field must be one that is taken, beside all the others. */
export const requiredFieldsAreTaken: Rule = ({ config }, report) => {
  for (const { files, fields } of formsOf(config)) {
    const { maxCount, names, schema } = fields;
    if (!isObject(schema) || !Array.isArray(schema['required']) || report.isBroken(fields, 'names')) continue;
    const required = schema['required'].filter((each) => typeof each === 'string');
    if (required.length > maxCount) {
      const why = `is less than the ${counted(required.length, 'field')} that schema requires`;
      report.problem(fields, 'maxCount', `${why}, so every form is refused`);
    }
    for (const name of required) {
      const isFile = Object.hasOwn(files, name);
      if (!isFile && (names?.includes(name) ?? true)) continue;
      const why = isFile
        ? 'is one of files and not a text field, so every form is refused: remove it here'
        : 'is not one of names, so every form is refused: add it to names, or remove it here';
      report.problem(schema, 'required', `asks for ${showName(name)}, which ${why}`);
    }
  }
};

/** Nothing in a form is a number or an object, so a property of such a type refuses every form that has it. */
export const fieldsAreTexts: Rule = ({ config }, report) => {
  for (const { schema } of formsOf(config).map(({ fields }) => fields)) {
    if (!isObject(schema)) continue;
    for (const [name, kind] of readFieldKinds(schema)) {
      if (kind !== 'neither') continue;
      report.problemBelow(
        schema,
        childPointer(childPointer('/properties', name), 'type'),
        'is not the type of a text field: write string, with a pattern for a number, or array for a field that may come more than once',
      );
    }
  }
};

export const fieldNamesAreNoFiles: Rule = ({ config }, report) => {
  for (const { files, fields } of formsOf(config)) {
    const { names } = fields;
    if (names === undefined || report.isBroken(fields, 'names')) continue;
    for (const [at, name] of names.entries()) {
      if (!Object.hasOwn(files, name)) continue;
      const why = 'is the name of one of files too, where text is always refused';
      report.problem(names, String(at), `${why}: remove it here, or give one of them another name`);
    }
  }
};

export const uploadsFitSpool: Rule = ({ config }, report) => {
  if (report.isBroken(config.spool, 'disk')) return;
  for (const { upload, file } of bodiesOf(config)) {
    const rule = upload ?? file;
    if (rule?.forward !== 'whole' || size(rule.maxSize) <= size(config.spool.disk)) continue;
    report.problem(rule, 'maxSize', 'is more than spool.disk');
  }
};
