import type { JSONSchema } from 'json-schema-to-ts';

const address = { type: ['integer', 'string'], format: 'address', minimum: 0, maximum: 65_535 } as const;

/** Where the gateway listens, and whom it believes there. */
export const listen = {
  description:
    'Where developers call: "host:port", "[ipv6]:port", or a port alone for every IPv4 interface. Port 0 takes any free port.',
  ...address,
  default: '0.0.0.0:8080',
} as const satisfies JSONSchema;

export const admin = {
  description: 'The second listener: health, metrics and administration. Never the public port.',
  type: 'object',
  additionalProperties: false,
  default: {},
  properties: {
    listen: {
      description:
        'Address of the second listener, written like `listen`. Anything but loopback needs a token, because everyone who can connect reaches metrics and administration.',
      ...address,
      default: '127.0.0.1:9090',
    },
    token: {
      description:
        'Bearer token of the second listener, at least 16 characters, with the role write; the audit log calls it admin. Take it from the environment or a file. Empty means none. Without any token, which only a loopback address allows, the admin API is off.',
      type: 'string',
      format: 'visible',
      writeOnly: true,
      default: '',
    },
    tokens: {
      description: 'Further tokens, so that the audit log can tell who changed a key.',
      type: 'array',
      default: [],
      items: {
        description: 'One token: a name, a role, and either token or hash.',
        type: 'object',
        additionalProperties: false,
        required: ['name'],
        properties: {
          name: {
            description: 'Who uses it, as the audit log and the log say.',
            type: 'string',
            format: 'name',
          },
          token: {
            description:
              'The bearer token: at least 16 visible ASCII characters. Take it from the environment or a file.',
            type: 'string',
            format: 'visible',
            maxLength: 1024,
            writeOnly: true,
          },
          hash: {
            description: 'SHA-256 of the token instead of the token: "sha256:" and 64 hexadecimal digits.',
            type: 'string',
            format: 'digest',
            writeOnly: true,
          },
          role: {
            description: 'read looks at keys and metrics, write changes keys too.',
            type: 'string',
            enum: ['read', 'write'],
            default: 'read',
          },
        },
      },
    },
  },
} as const satisfies JSONSchema;

export const basePath = {
  description: 'In front of every route path, such as "/api". Literal segments only, no "/" at the end.',
  type: 'string',
  format: 'base-path',
  default: '/',
} as const satisfies JSONSchema;

export const trustProxy = {
  description:
    'Addresses or CIDRs of proxies in front of the gateway whose X-Forwarded-* headers are believed. Nobody by default. Danger: whoever is listed can claim any client address.',
  type: 'array',
  items: {
    description:
      'An address such as 10.0.0.7 or a block such as 10.0.0.0/8. An IPv6 block, ::/0 too, holds no IPv4 address.',
    type: 'string',
    format: 'network',
  },
  uniqueItems: true,
  default: [],
} as const satisfies JSONSchema;

export const forwarded = {
  description: 'Send the Forwarded header (RFC 7239) to upstreams beside X-Forwarded-*.',
  type: 'boolean',
  default: false,
} as const satisfies JSONSchema;
