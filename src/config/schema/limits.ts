import type { JSONSchema } from 'json-schema-to-ts';

/** The most that the process takes on. */
export const limits = {
  description: 'The most that the process takes on. None of them can be switched off.',
  type: 'object',
  additionalProperties: false,
  default: {},
  properties: {
    connections: {
      description: 'Open client connections; more are closed at once.',
      type: 'integer',
      minimum: 1,
      maximum: 1_000_000,
      default: 10_000,
    },
    inFlight: {
      description: 'Requests being worked on in the whole process; more are answered 503.',
      type: 'integer',
      minimum: 1,
      maximum: 1_000_000,
      default: 1000,
    },
    inFlightPerConnection: {
      description:
        'Pipelined requests of one connection being worked on, or waiting for their turn: unsafe ones go one by one.',
      type: 'integer',
      minimum: 1,
      maximum: 1000,
      default: 10,
    },
    headerSize: {
      description: 'The path of a request, its query, and the names and values of all its headers together.',
      type: 'string',
      format: 'size',
      default: '16KB',
    },
    headerCount: {
      description: 'Header lines of a request, and as many trailers. One more ends the connection.',
      type: 'integer',
      minimum: 1,
      maximum: 2000,
      default: 100,
    },
    headerTimeout: {
      description:
        'To the end of the headers of a request, from its first byte or from the opening of its connection.',
      type: 'string',
      format: 'duration',
      default: '10s',
    },
    requestTimeout: {
      description: 'From the end of the headers to the end of a body that sets no timeout of its own.',
      type: 'string',
      format: 'duration',
      default: '30s',
    },
    keepAlive: {
      description:
        'How long an idle client connection is kept, as clients are told in whole seconds. It is closed a second later, so that none is closed under a request.',
      type: 'string',
      format: 'duration',
      default: '5s',
    },
    stalledReader: {
      description:
        'How long a client may take nothing of an answer that waits for it before it is cut. Linux shows what it takes in steps of up to 1.4MB.',
      type: 'string',
      format: 'duration',
      default: '60s',
    },
    bodyMemory: {
      description:
        'All request bodies held in memory at one time: JSON, text fields of forms, others up to 64KB. None may be larger.',
      type: 'string',
      format: 'size',
      default: '256MB',
    },
  },
} as const satisfies JSONSchema;
