import { boolean, duration, integer, list, mapping, section, size, text } from './kinds.ts';
import { onMismatch } from './mismatches.ts';

const maxSize = size('Largest file.', { default: '10MB' });
const minSize = size('Smallest file. An empty file is always refused.', { default: '1B' });
const types = list(
  'MIME types that are taken, such as audio/wav or audio/*; any when absent. Declared type, extension and content must agree on one of them.',
  {
    minItems: 1,
    uniqueItems: true,
    items: text('One type.', { format: 'media-type' }),
  },
);
const forward = text(
  'whole: the upstream sees nothing until all of it has passed. stream: it is forwarded while it is checked.',
  { enum: ['whole', 'stream'], default: 'whole' },
);
const minRate = size('Bytes per second that the client must send while it is waited for.', {
  default: '1KB',
});
const timeout = duration(
  'How long the client may be waited for until all of the body is there. It may be longer than limits.requestTimeout.',
  { default: '10m' },
);

const fileField = mapping('The files of one form field.', [], {
  required: boolean('Whether there must be one.', { default: true }),
  maxCount: integer('Files in this field at most.', { minimum: 1, maximum: 1000, default: 1 }),
  maxSize: size('Largest file; as large as the whole form when absent.'),
  minSize,
  types,
  extensions: list('Extensions that are taken, without the dot; those of the types when absent.', {
    minItems: 1,
    uniqueItems: true,
    items: text('One extension.', { format: 'extension' }),
  }),
  nameLength: integer('Longest file name, in characters.', { minimum: 1, maximum: 1000, default: 255 }),
});

const fields = section('The text fields of the form, which are held in memory.', {
  maxCount: integer('Text fields at most.', { minimum: 0, maximum: 1000, default: 20 }),
  maxSize: size('Largest value.', { default: '16KB' }),
  names: list('The only names that are taken; any when absent.', {
    uniqueItems: true,
    items: text('One name.', { format: 'field-name' }),
  }),
  schema: {
    description:
      'JSON Schema (draft 2020-12) of an object of all text fields: a string each, or a list where the type of its property is array. Only such a field may be sent more than once. ${…} is not expanded inside it.',
    type: 'object',
  },
  onMismatch,
});

export const upload = mapping(
  'Take multipart/form-data, in the one form that every parser reads alike.',
  ['files'],
  {
    maxSize: size('Largest body, form and all.', { default: '12MB' }),
    minRate,
    timeout,
    files: {
      description: 'The form fields that hold files, by name.',
      type: 'object',
      propertyNames: { format: 'field-name' },
      additionalProperties: fileField,
    },
    others: text(
      'What becomes of files in other fields. Of allowed ones only the name is checked, and maxSize bounds them.',
      { enum: ['refuse', 'allow'], default: 'refuse' },
    ),
    fields,
    forward,
  },
);

export const file = mapping('Take a body that is the bare file, described by its Content-Type.', [], {
  maxSize,
  minSize,
  types,
  minRate,
  timeout,
  forward,
});

export const spool = section(
  'Where uploads with `forward: whole` wait until each has passed in full; beyond it they are answered 503.',
  {
    memory: size(
      'Memory for all uploads together: those that declare up to a sixteenth of it wait here whole, of larger ones the piece that goes to disk next. What does not fit goes to disk at once.',
      { default: '16MB' },
    ),
    disk: size('Disk for all larger uploads together.', { default: '1GB' }),
    directory: text(
      "Where the files are; the system's temporary folder when absent. They lose their names at once: a process that is killed in between leaves an empty one.",
      { minLength: 1 },
    ),
  },
);
