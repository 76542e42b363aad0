import type { JSONSchema } from 'json-schema-to-ts';
import { refusalCodes } from '../../refusals.ts';
import { integer, mapping, text } from './kinds.ts';

export const errors = {
  description:
    'Other statuses, words and fields for refusals, by their code (the X-Gatehouse-Refusal header).',
  type: 'object',
  propertyNames: { enum: refusalCodes },
  default: {},
  additionalProperties: mapping('What replaces the default answer; what is absent stays as it is.', [], {
    status: integer('HTTP status, from 400 to 599.', { minimum: 400, maximum: 599 }),
    message: text('The `error` field of the answer. It replaces every sentence of this refusal.', {
      minLength: 1,
      maxLength: 1000,
    }),
    fields: {
      description: 'Further fields of the answer, any JSON. `error` is not among them, that is `message`.',
      type: 'object',
      default: {},
    },
  }),
} as const satisfies JSONSchema;
