import type { JSONSchema } from 'json-schema-to-ts';

const timeouts = {
  description: 'How long the gateway waits for this upstream.',
  type: 'object',
  additionalProperties: false,
  default: {},
  properties: {
    connect: {
      description:
        'For a connection to a target, TLS included. Where its name has several addresses, each but the last gets half a second of it.',
      type: 'string',
      format: 'duration',
      default: '2s',
    },
    response: {
      description: 'From the end of the request to the headers of the answer.',
      type: 'string',
      format: 'duration',
      default: '30s',
    },
    idle: {
      description:
        'Between two pieces of an answer, or of a large body that it takes. Event streams that stay silent for longer need more.',
      type: 'string',
      format: 'duration',
      default: '60s',
    },
  },
} as const satisfies JSONSchema;

/** The services behind the gateway. */
export const upstreams = {
  description: 'The services behind the gateway, by name.',
  type: 'object',
  minProperties: 1,
  propertyNames: { format: 'name' },
  additionalProperties: {
    description: 'One service.',
    type: 'object',
    additionalProperties: false,
    required: ['targets'],
    properties: {
      targets: {
        description:
          'Origins that serve it, "http://host:port" or "https://host", without path or credentials.',
        type: 'array',
        minItems: 1,
        uniqueItems: true,
        items: { description: 'One origin.', type: 'string', format: 'origin' },
      },
      timeouts,
      connections: {
        description:
          'Requests at work at each target, each on its own connection; further ones wait in line for at most `timeouts.response`. A connection kept for later is closed when there would be more.',
        type: 'integer',
        minimum: 1,
        maximum: 65_535,
        default: 256,
      },
      preserveHost: {
        description: "Send the client's own Host header instead of the target's.",
        type: 'boolean',
        default: false,
      },
      ca: {
        description:
          'PEM certificates of the authorities to trust for https targets, usually ${file:/path}, in place of those that Node trusts. It needs at least one https target.',
        type: 'string',
        minLength: 1,
      },
    },
  },
} as const satisfies JSONSchema;

/** The versions of the API, each the first segment of its routes. */
export const versions = {
  description: 'Versions of the API by name; the name is the first segment of its routes, after basePath.',
  type: 'object',
  propertyNames: { format: 'name' },
  default: {},
  additionalProperties: {
    description: 'One version.',
    type: 'object',
    additionalProperties: false,
    required: ['upstream'],
    properties: {
      upstream: { description: 'Name under `upstreams` that serves its routes.', type: 'string' },
      deprecated: {
        description:
          'The time from which it is deprecated, announced by the Deprecation header (RFC 9745). ISO 8601.',
        type: 'string',
        format: 'instant',
      },
      sunset: {
        description:
          'When it ends, announced by the Sunset header (RFC 8594). ISO 8601, not before `deprecated`.',
        type: 'string',
        format: 'instant',
      },
      link: {
        description:
          'URL where the deprecation is explained, sent as a Link header once there is a date to explain.',
        type: 'string',
        format: 'link',
      },
      afterSunset: {
        description: 'After the sunset: serve goes on, gone answers 410. gone needs a `sunset`.',
        type: 'string',
        enum: ['serve', 'gone'],
        default: 'serve',
      },
    },
  },
} as const satisfies JSONSchema;
