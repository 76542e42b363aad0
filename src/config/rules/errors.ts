import { isContainer } from '../../content/is-object.ts';
import { childPointer } from '../json-pointer.ts';
import type { Rule } from './draft.ts';

export const errorFieldsAreOthers: Rule = ({ config: { errors } }, report) => {
  for (const { fields } of Object.values(errors)) {
    if (Object.hasOwn(fields, 'error'))
      report.problem(fields, 'error', 'is the sentence of the answer, write it as message');
  }
};

/** JSON lacks infinity, and JavaScript many large numbers: another would be answered, or `null`. */
export const errorNumbersAreExact: Rule = ({ config: { errors } }, report) => {
  for (const { fields } of Object.values(errors)) {
    for (const pointer of inexactNumbers(fields, ''))
      report.problemBelow(fields, pointer, 'cannot be answered as this number, put it in quotes');
  }
};

export const errorsAreAnswered: Rule = ({ config: { errors } }, report) => {
  if (errors['client_gone'] !== undefined)
    report.problem(errors, 'client_gone', 'is never answered, the client has left: remove it');
};

function inexactNumbers(value: unknown, pointer: string): string[] {
  if (typeof value === 'number') {
    const isExact = Number.isInteger(value) ? Number.isSafeInteger(value) : Number.isFinite(value);
    return isExact ? [] : [pointer];
  }
  if (!isContainer(value)) return [];
  return Object.entries(value).flatMap(([name, part]) => inexactNumbers(part, childPointer(pointer, name)));
}
