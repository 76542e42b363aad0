import type { JSONSchema } from 'json-schema-to-ts';

/** Who may call: the header of the key, and the keys written into the file. */
export const auth = {
  description: 'How a caller is recognised.',
  type: 'object',
  additionalProperties: false,
  default: {},
  properties: {
    header: {
      description:
        'Request header that carries the API key, read in any letter case. In Authorization the key may follow "Bearer ".',
      type: 'string',
      format: 'header-name',
      default: 'apiKey',
    },
    forwardKey: {
      description:
        'Pass the key on to the upstream. Danger: whatever the upstream logs then holds working keys.',
      type: 'boolean',
      default: false,
    },
    cacheFor: {
      description:
        'How long a looked-up key may be served without asking the store. Changes arrive within a second anyway; this bounds how long a revoked key lives on should that fail. 0s asks every time. Keys in this file need no store.',
      type: 'string',
      format: 'duration-or-zero',
      default: '60s',
    },
    graceOnOutage: {
      description:
        'While the store is down: how long a key that it vouched for keeps working, never less than cacheFor. Each process knows only the keys it has looked up itself. With 0s for both every such key is refused with 500 at once.',
      type: 'string',
      format: 'duration-or-zero',
      default: '15m',
    },
    prefix: {
      description:
        'Begins every key that is made here, as in gh_…, so that people and secret scanners know it. One that is mistyped is refused without asking the store. Keys from elsewhere may begin with it too, unless they look like one of these with a mistake.',
      type: 'string',
      format: 'key-prefix',
      default: 'gh',
    },
    guessing: {
      description:
        'Slows down the guessing of keys: after too many invalid ones from one IPv4 address or IPv6 /64, the next ones are answered 429. A valid key is never refused for it.',
      type: 'object',
      additionalProperties: false,
      default: {},
      properties: {
        enabled: { description: 'false answers 401 however many there are.', type: 'boolean', default: true },
        failures: {
          description:
            'How many invalid keys are answered 401 in each interval. Each process counts for itself.',
          type: 'integer',
          minimum: 1,
          maximum: 1_000_000,
          default: 1000,
        },
        per: { description: 'The interval.', type: 'string', format: 'duration', default: '1m' },
      },
    },
  },
} as const satisfies JSONSchema;

export const keys = {
  description: 'Static keys. They are hashed while the file is read, and the secret is kept nowhere.',
  type: 'array',
  default: [],
  items: {
    description: 'One key: an id, a plan, and either secret or hash.',
    type: 'object',
    additionalProperties: false,
    required: ['id', 'plan'],
    properties: {
      id: {
        description:
          'Name of the key in logs, in the store and in X-Gatehouse-Key-Id. Never the secret itself.',
        type: 'string',
        format: 'name',
      },
      plan: { description: 'Name of a plan under `plans`.', type: 'string' },
      secret: {
        description:
          'What the caller sends: visible ASCII without spaces. Take it from the environment or a file; anything under 16 characters can be guessed.',
        type: 'string',
        format: 'visible',
        minLength: 1,
        maxLength: 1024,
        writeOnly: true,
      },
      hash: {
        description: 'SHA-256 of the secret instead of the secret: "sha256:" and 64 hexadecimal digits.',
        type: 'string',
        format: 'digest',
        writeOnly: true,
      },
      enabled: { description: 'false refuses the key without removing it.', type: 'boolean', default: true },
      expires: {
        description:
          'From this moment the key is refused: an ISO 8601 date (midnight UTC) or date and time with zone.',
        type: 'string',
        format: 'instant',
      },
    },
  },
} as const satisfies JSONSchema;
