import type { JSONSchema } from 'json-schema-to-ts';

/** How the process keeps its data, stops, and speaks. */
export const store = {
  description:
    'Where keys and usage are kept: sqlite: and a file, relative to the working directory, or redis://user:password@host:6379/0, rediss:// for TLS (?ca=/file.pem for its authorities), redis+sentinel://host:26379/master, redis+cluster://host:6379. Several hosts are separated by commas.',
  type: 'string',
  format: 'store',
  writeOnly: true,
  default: 'sqlite:./data/gatehouse.db',
} as const satisfies JSONSchema;

export const storeDeadline = {
  description:
    'How long to wait for one answer from the store; after that `onStoreFailure` of the plan decides.',
  type: 'string',
  format: 'duration',
  default: '250ms',
} as const satisfies JSONSchema;

export const usage = {
  description:
    'Where callers read their own quotas, with GET and their own key. It costs nothing. Off when absent.',
  type: 'object',
  additionalProperties: false,
  required: ['path'],
  properties: {
    path: {
      description: 'Path after basePath, such as /v1/usage. Literal segments only, and no route has it.',
      type: 'string',
      format: 'base-path',
    },
  },
} as const satisfies JSONSchema;

export const workers = {
  description:
    'Processes that share the port, at most 256; auto is one per core. With one, no other process is started.',
  type: ['integer', 'string'],
  format: 'workers',
  minimum: 1,
  maximum: 256,
  default: 1,
} as const satisfies JSONSchema;

export const drain = {
  description: 'How the gateway stops.',
  type: 'object',
  additionalProperties: false,
  default: {},
  properties: {
    delay: {
      description:
        'Between "not ready" and closing the listener, so that a load balancer can stop sending requests. 0s for none.',
      type: 'string',
      format: 'duration-or-zero',
      default: '0s',
    },
    timeout: {
      description: 'For requests in flight to finish; what is left then is cut.',
      type: 'string',
      format: 'duration',
      default: '30s',
    },
  },
} as const satisfies JSONSchema;

export const log = {
  description: 'What the process writes to its standard output.',
  type: 'object',
  additionalProperties: false,
  default: {},
  properties: {
    level: {
      description: 'The least serious lines that are written.',
      type: 'string',
      enum: ['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent'],
      default: 'info',
    },
    format: {
      description: 'json for machines, pretty for people, auto for pretty on a terminal and json elsewhere.',
      type: 'string',
      enum: ['auto', 'json', 'pretty'],
      default: 'auto',
    },
  },
} as const satisfies JSONSchema;
