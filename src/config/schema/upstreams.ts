import type { JSONSchema } from 'json-schema-to-ts';
import { boolean, duration, integer, list, mapping, section, text } from './kinds.ts';

const timeouts = section('How long the gateway waits for this upstream.', {
  connect: duration(
    'For a connection to a target, TLS included. Where its name has several addresses, each but the last gets half a second of it.',
    { default: '2s' },
  ),
  response: duration('From the end of the request to the headers of the answer.', { default: '30s' }),
  idle: duration(
    'Between two pieces of an answer, or of a large body that it takes. Event streams that stay silent for longer need more.',
    { default: '60s' },
  ),
});

/** For a health check of which only the path is written. */
export const healthDefaults = { every: '10s', timeout: '2s' } as const;

const health = {
  description:
    'Ask each target for this path, and leave out those that do not answer 2xx while others do: a path, or path and the rest. Absent, nobody asks.',
  type: ['object', 'string'],
  format: 'health',
  additionalProperties: false,
  required: ['path'],
  properties: {
    path: text('What is asked for with GET and no key, such as /healthz; it may have a query.', {
      format: 'health-path',
    }),
    every: duration('How often, by each worker; up to a tenth sooner, so that they do not ask in step.', {
      default: healthDefaults.every,
    }),
    timeout: duration('For the whole answer, once there is a connection.', {
      default: healthDefaults.timeout,
    }),
    host: text(
      "The Host header of a check, for a target that does not answer to its own name; the target's when absent.",
      {
        format: 'host',
      },
    ),
  },
} as const satisfies JSONSchema;

export const upstreams = {
  description: 'The services behind the gateway, by name.',
  type: 'object',
  minProperties: 1,
  propertyNames: { format: 'name' },
  additionalProperties: mapping('One service.', ['targets'], {
    targets: list(
      'Origins that serve it, "http://host:port" or "https://host", without path or credentials.',
      {
        minItems: 1,
        uniqueItems: true,
        items: text('One origin.', { format: 'origin' }),
      },
    ),
    basePath: text(
      'What stands at this service in place of the gateway\'s `basePath`: "/" takes that away, "/internal/v2" replaces it. The gateway\'s when absent.',
      { format: 'base-path' },
    ),
    timeouts,
    health,
    connections: integer(
      'Requests at work at each target, each on its own connection; further ones wait in line for at most `timeouts.response`. A connection kept for later is closed when there would be more.',
      { minimum: 1, maximum: 65_535, default: 256 },
    ),
    preserveHost: boolean("Send the client's own Host header instead of the target's.", { default: false }),
    ca: text(
      'PEM certificates of the authorities to trust for https targets, usually ${file:/path}, in place of those that Node trusts. It needs at least one https target.',
      { minLength: 1 },
    ),
  }),
} as const satisfies JSONSchema;

export const versions = {
  description: 'Versions of the API by name; the name is the first segment of its routes, after basePath.',
  type: 'object',
  propertyNames: { format: 'name' },
  default: {},
  additionalProperties: mapping('One version.', ['upstream'], {
    upstream: text('Name under `upstreams` that serves its routes.'),
    deprecated: text(
      'The time from which it is deprecated, announced by the Deprecation header (RFC 9745). ISO 8601.',
      { format: 'instant' },
    ),
    sunset: text(
      'When it ends, announced by the Sunset header (RFC 8594). ISO 8601, not before `deprecated`.',
      { format: 'instant' },
    ),
    link: text(
      'URL where the deprecation is explained, sent as a Link header once there is a date to explain.',
      { format: 'link' },
    ),
    afterSunset: text('After the sunset: serve goes on, gone answers 410. gone needs a `sunset`.', {
      enum: ['serve', 'gone'],
      default: 'serve',
    }),
  }),
} as const satisfies JSONSchema;
