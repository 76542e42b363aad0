import type { JSONSchema } from 'json-schema-to-ts';
import { boolean, list, mapping, section, text } from './kinds.ts';

const address = { type: ['integer', 'string'], format: 'address', minimum: 0, maximum: 65_535 } as const;

export const listen = {
  description:
    'Where developers call: "host:port", "[ipv6]:port", or a port alone for every IPv4 interface. "[::]:8080" takes IPv6 and IPv4. Port 0 takes any free port.',
  ...address,
  default: '0.0.0.0:8080',
} as const satisfies JSONSchema;

export const admin = section(
  'The second listener: health, metrics and administration. Never the public port.',
  {
    listen: {
      description:
        'Address of the second listener, written like `listen`. Anything but loopback needs a token, because everyone who can connect reaches metrics and administration.',
      ...address,
      default: '127.0.0.1:9090',
    },
    token: text(
      'Bearer token of the second listener, at least 16 characters, with the role write; the audit log calls it admin. Take it from the environment or a file. Empty means none. Without any token, which only a loopback address allows, the admin API is off.',
      { format: 'visible', writeOnly: true, default: '' },
    ),
    tokens: list('Further tokens, so that the audit log can tell who changed a key.', {
      default: [],
      items: mapping('One token: a name, a role, and either token or hash.', ['name'], {
        name: text('Who uses it, as the audit log and the log say.', { format: 'name' }),
        token: text(
          'The bearer token: at least 16 visible ASCII characters. Take it from the environment or a file.',
          { format: 'visible', maxLength: 1024, writeOnly: true },
        ),
        hash: text('SHA-256 of the token instead of the token: "sha256:" and 64 hexadecimal digits.', {
          format: 'digest',
          writeOnly: true,
        }),
        role: text('read looks at keys, usage and metrics; write changes keys and usage too.', {
          enum: ['read', 'write'],
          default: 'read',
        }),
      }),
    }),
  },
);

export const basePath = text(
  'In front of every route path, such as "/api". Literal segments only, no "/" at the end.',
  { format: 'base-path', default: '/' },
);

export const trustProxy = list(
  'Addresses or CIDRs of proxies in front of the gateway whose X-Forwarded-* headers are believed. Nobody by default. Danger: whoever is listed can claim any client address.',
  {
    items: text(
      'An address such as 10.0.0.7 or a block such as 10.0.0.0/8. An IPv6 block, ::/0 too, holds no IPv4 address.',
      { format: 'network' },
    ),
    uniqueItems: true,
    default: [],
  },
);

export const forwarded = boolean('Send the Forwarded header (RFC 7239) to upstreams beside X-Forwarded-*.', {
  default: false,
});
