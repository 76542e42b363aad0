import { boolean, duration, integer, list, mapping, section, text } from './kinds.ts';

export const auth = section('How a caller is recognised.', {
  header: {
    description:
      'Request header that carries the API key, read in any letter case. Where callers use several, a list of up to 5; a request must have exactly one of them. In Authorization the key may follow "Bearer ".',
    type: ['string', 'array'],
    format: 'header-name',
    // Each header of each request is compared with each of them.
    maxItems: 5,
    minItems: 1,
    uniqueItems: true,
    items: text('One name.', { format: 'header-name' }),
    default: 'apiKey',
  },
  forwardKey: boolean(
    'Pass the key on to the upstream. Danger: whatever the upstream logs then holds working keys.',
    { default: false },
  ),
  cacheFor: text(
    'How long a looked-up key may be served without asking the store. Changes arrive within a second anyway; this bounds how long a revoked key lives on should that fail. 0s asks every time. Keys in this file need no store.',
    { format: 'duration-or-zero', default: '60s' },
  ),
  graceOnOutage: text(
    'While the store is down: how long a key that it vouched for keeps working, never less than cacheFor. Each process knows only the keys it has looked up itself. With 0s for both every such key is refused with 500 at once.',
    { format: 'duration-or-zero', default: '15m' },
  ),
  prefix: text(
    'Begins every key that is made here, as in gh_…, so that people and secret scanners know it. One that is mistyped is refused without asking the store. Keys from elsewhere may begin with it too, unless they look like one of these with a mistake.',
    { format: 'key-prefix', default: 'gh' },
  ),
  guessing: section(
    'Slows down the guessing of keys: after too many invalid ones from one IPv4 address or IPv6 /64, the next ones are answered 429. A valid key is never refused for it.',
    {
      enabled: boolean('false answers 401 however many there are.', { default: true }),
      failures: integer(
        'How many invalid keys are answered 401 in each interval. Each process counts for itself.',
        { minimum: 1, maximum: 1_000_000, default: 1000 },
      ),
      per: duration('The interval.', { default: '1m' }),
    },
  ),
});

export const keys = list(
  'Static keys. They are hashed while the file is read, and the secret is kept nowhere.',
  {
    default: [],
    items: mapping('One key: an id, a plan, and either secret or hash.', ['id', 'plan'], {
      id: text('Name of the key in logs, in the store and in X-Gatehouse-Key-Id. Never the secret itself.', {
        format: 'name',
      }),
      plan: text('Name of a plan under `plans`.'),
      owner: text('Whom it belongs to, as the upstream is told in X-Gatehouse-Owner. Empty for nobody.', {
        format: 'line',
        maxLength: 200,
        default: '',
      }),
      secret: text(
        'What the caller sends: visible ASCII without spaces. Take it from the environment or a file; anything under 16 characters can be guessed.',
        { format: 'visible', minLength: 1, maxLength: 1024, writeOnly: true },
      ),
      hash: text('SHA-256 of the secret instead of the secret: "sha256:" and 64 hexadecimal digits.', {
        format: 'digest',
        writeOnly: true,
      }),
      enabled: boolean('false refuses the key without removing it.', { default: true }),
      expires: text(
        'From this moment the key is refused: an ISO 8601 date (its first moment, 00:00 UTC) or date and time with zone.',
        { format: 'instant' },
      ),
    }),
  },
);
