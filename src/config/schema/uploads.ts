import type { JSONSchema } from 'json-schema-to-ts';

const maxSize = { description: 'Largest file.', type: 'string', format: 'size', default: '10MB' } as const;
const minSize = {
  description: 'Smallest file. An empty file is always refused.',
  type: 'string',
  format: 'size',
  default: '1B',
} as const;
const types = {
  description:
    'MIME types that are taken, such as audio/wav or audio/*; any when absent. Declared type, extension and content must agree on one of them.',
  type: 'array',
  minItems: 1,
  uniqueItems: true,
  items: { description: 'One type.', type: 'string', format: 'media-type' },
} as const;
const forward = {
  description:
    'whole: the upstream sees nothing until all of it has passed. stream: it is forwarded while it is checked.',
  type: 'string',
  enum: ['whole', 'stream'],
  default: 'whole',
} as const;
const minRate = {
  description: 'Bytes per second that the client must send while it is waited for.',
  type: 'string',
  format: 'size',
  default: '1KB',
} as const;
const timeout = {
  description:
    'How long the client may be waited for until all of the body is there. It may be longer than limits.requestTimeout.',
  type: 'string',
  format: 'duration',
  default: '10m',
} as const;

const fileField = {
  description: 'The files of one form field.',
  type: 'object',
  additionalProperties: false,
  properties: {
    required: { description: 'Whether there must be one.', type: 'boolean', default: true },
    maxCount: {
      description: 'Files in this field at most.',
      type: 'integer',
      minimum: 1,
      maximum: 1000,
      default: 1,
    },
    maxSize: {
      description: 'Largest file; as large as the whole form when absent.',
      type: 'string',
      format: 'size',
    },
    minSize,
    types,
    extensions: {
      description: 'Extensions that are taken, without the dot; those of the types when absent.',
      type: 'array',
      minItems: 1,
      uniqueItems: true,
      items: { description: 'One extension.', type: 'string', format: 'extension' },
    },
    nameLength: {
      description: 'Longest file name, in characters.',
      type: 'integer',
      minimum: 1,
      maximum: 1000,
      default: 255,
    },
  },
} as const satisfies JSONSchema;

const fields = {
  description: 'The text fields of the form, which are held in memory.',
  type: 'object',
  additionalProperties: false,
  default: {},
  properties: {
    maxCount: {
      description: 'Text fields at most.',
      type: 'integer',
      minimum: 0,
      maximum: 1000,
      default: 20,
    },
    maxSize: { description: 'Largest value.', type: 'string', format: 'size', default: '16KB' },
    names: {
      description: 'The only names that are taken; any when absent.',
      type: 'array',
      uniqueItems: true,
      items: { description: 'One name.', type: 'string', format: 'field-name' },
    },
    schema: {
      description:
        'JSON Schema (draft 2020-12) of an object of all text fields: a string each, or a list where the type of its property is array. Only such a field may be sent more than once. ${…} is not expanded inside it.',
      type: 'object',
    },
  },
} as const satisfies JSONSchema;

/** A form with files. */
export const upload = {
  description: 'Take multipart/form-data, in the one form that every parser reads alike.',
  type: 'object',
  additionalProperties: false,
  required: ['files'],
  properties: {
    maxSize: { description: 'Largest body, form and all.', type: 'string', format: 'size', default: '12MB' },
    minRate,
    timeout,
    files: {
      description: 'The form fields that hold files, by name.',
      type: 'object',
      propertyNames: { format: 'field-name' },
      additionalProperties: fileField,
    },
    others: {
      description:
        'What becomes of files in other fields. Of allowed ones only the name is checked, and maxSize bounds them.',
      type: 'string',
      enum: ['refuse', 'allow'],
      default: 'refuse',
    },
    fields,
    forward,
  },
} as const satisfies JSONSchema;

/** A bare file. */
export const file = {
  description: 'Take a body that is the bare file, described by its Content-Type.',
  type: 'object',
  additionalProperties: false,
  properties: { maxSize, minSize, types, minRate, timeout, forward },
} as const satisfies JSONSchema;

/** Where uploads wait until each has passed in full. */
export const spool = {
  description:
    'Where uploads with `forward: whole` wait until each has passed in full; beyond it they are answered 503.',
  type: 'object',
  additionalProperties: false,
  default: {},
  properties: {
    memory: {
      description:
        'All uploads together: small ones whole, larger ones the piece that goes to disk next. What does not fit goes there at once.',
      type: 'string',
      format: 'size',
      default: '16MB',
    },
    disk: { description: 'All larger ones together.', type: 'string', format: 'size', default: '1GB' },
    directory: {
      description:
        "Where the files are; the system's temporary folder when absent. They lose their names at once: a process that is killed in between leaves an empty one.",
      type: 'string',
      minLength: 1,
    },
  },
} as const satisfies JSONSchema;
