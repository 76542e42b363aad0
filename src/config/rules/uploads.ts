import type { RawRoute } from '../schema.ts';
import { parseSize, printSize } from '../units.ts';
import type { Draft, Rule } from './draft.ts';

/** Text fields are held in memory while a form is checked, so one form may not hold many large ones. */
const fieldsBytesMax = 4 * 1024 * 1024;

/** A file that fits its field has to fit its form. */
export const filesFitBodies: Rule = ({ config }, report) => {
  for (const upload of formsOf(config)) {
    if (report.isBroken(upload, 'maxSize')) continue;
    for (const field of Object.values(upload.files)) {
      if (sizeOf(field.minSize) > sizeOf(field.maxSize ?? upload.maxSize))
        report.problem(field, 'minSize', 'is more than maxSize');
      if (field.maxSize !== undefined && sizeOf(field.maxSize) >= sizeOf(upload.maxSize)) {
        report.problem(
          field,
          'maxSize',
          'must be less than maxSize of the upload, which holds the form around it too',
        );
      }
    }
  }
  for (const file of bodiesOf(config).flatMap((body) => body.file ?? [])) {
    if (sizeOf(file.minSize) > sizeOf(file.maxSize)) report.problem(file, 'minSize', 'is more than maxSize');
  }
};

export const fieldsFitMemory: Rule = ({ config }, report) => {
  for (const { fields } of formsOf(config)) {
    if (fields.maxCount * sizeOf(fields.maxSize) <= fieldsBytesMax) continue;
    report.problem(
      fields,
      'maxSize',
      `times maxCount is more than ${printSize(fieldsBytesMax)}, and text fields are held in memory`,
    );
  }
};

export const uploadsFitSpool: Rule = ({ config }, report) => {
  if (report.isBroken(config.spool, 'disk')) return;
  for (const { upload, file } of bodiesOf(config)) {
    const rule = upload ?? file;
    if (rule?.forward !== 'whole' || sizeOf(rule.maxSize) <= sizeOf(config.spool.disk)) continue;
    report.problem(rule, 'maxSize', 'is more than spool.disk');
  }
};

function bodiesOf({ routes }: Draft['config']): readonly Exclude<RawRoute['body'], string>[] {
  return routes.flatMap(({ body }) => (typeof body === 'string' ? [] : body));
}

function formsOf(config: Draft['config']) {
  return bodiesOf(config).flatMap(({ upload }) => upload ?? []);
}

function sizeOf(text: string): number {
  return parseSize(text) ?? 0;
}
