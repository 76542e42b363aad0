import { durationPattern, parseDuration } from '../../config/units.ts';
import type { FreshSecret, Repeat } from '../../keys/key-book.ts';
import type { KeyView } from '../../keys/key-view.ts';
import { operation, type Operation } from '../operation.ts';
import type { Answer } from '../send-answer.ts';
import { pageQuery } from './page-query.ts';

const aKey = { status: 200, description: 'The key.', schema: 'Key', headers: ['ETag'] } as const;
const tag = 'Keys';

/** Listing and showing keys, and making and changing one. */
export const keyOperations: readonly Operation[] = [
  operation({
    id: 'listKeys',
    method: 'GET',
    path: '/v1/keys',
    tag,
    role: 'read',
    summary: 'list keys in the order of their ids',
    description: 'Filters that are given must all fit. Revoked keys are listed only when asked for.',
    query: {
      plan: { description: 'Only those of this plan.', type: 'string', maxLength: 200 },
      owner: { description: 'Only those of this owner.', type: 'string', maxLength: 200 },
      name: { description: 'Only those whose name begins with this.', type: 'string', maxLength: 200 },
      label: {
        description:
          '`name` or `name=value`: only those with this label, or with all of them if it is repeated.',
        type: 'array',
        maxItems: 32,
        items: { type: 'string', maxLength: 300 },
      },
      enabled: { description: 'Only those that are, or are not, enabled.', type: 'boolean' },
      revoked: { description: 'true: only those that were revoked.', type: 'boolean' },
      ...pageQuery,
    },
    answers: [{ status: 200, description: 'A page of keys.', schema: 'KeyPage' }],
    async handle({ query: { label, ...query } }, { book }) {
      const { items: keys, ...page } = await book.list({ ...query, labels: label });
      return { status: 200, body: { keys, ...page } };
    },
  }),
  operation({
    id: 'createKey',
    method: 'POST',
    path: '/v1/keys',
    tag,
    role: 'write',
    summary: 'make a key, and tell its secret once',
    description:
      'With an `Idempotency-Key` a repeat of the request makes no second key, on whichever gateway and however late. It answers 200 with the key and no secret, because that is kept nowhere: when the answer with it was lost, rotate the key. An `id` cannot be chosen beside it; a key of a chosen id is made once anyway, and a repeat is 409.',
    body: { kind: 'key', schema: 'NewKey' },
    repeatable: true,
    answers: [
      {
        status: 201,
        description: 'The key was made. This is the only time that its secret is told.',
        schema: 'KeyWithSecret',
        headers: ['ETag', 'Location'],
      },
      {
        status: 200,
        description: 'The request was made before: the key that it made.',
        schema: 'RepeatedKey',
        headers: ['ETag', 'Location', 'Idempotent-Replayed'],
      },
    ],
    async handle({ written, by, mark }, { book }) {
      const fresh =
        mark === undefined ? await book.create(written, by) : await book.createOnce(written, by, mark);
      const answer = secretAnswer(fresh, 201);
      return { ...answer, headers: { ...answer.headers, Location: `/v1/keys/${fresh.key.id}` } };
    },
  }),
  operation({
    id: 'showKey',
    method: 'GET',
    path: '/v1/keys/{id}',
    tag,
    role: 'read',
    summary: 'show all that is known of a key',
    answers: [aKey],
    handle: async ({ id }, { book }) => keyAnswer(await book.show(id)),
  }),
  operation({
    id: 'updateKey',
    method: 'PATCH',
    path: '/v1/keys/{id}',
    tag,
    role: 'write',
    summary: 'change what is given; `null` empties a field',
    description: 'Lists and labels are replaced as a whole. Secrets and usage stay.',
    body: { kind: 'key', schema: 'KeyChange' },
    conditional: true,
    answers: [aKey],
    handle: async ({ id, written, by }, { book }) => keyAnswer(await book.update(id, written, by)),
  }),
  operation({
    id: 'rotateKey',
    method: 'POST',
    path: '/v1/keys/{id}/rotate',
    tag,
    role: 'write',
    summary: 'give a key a new secret, and tell it once',
    description:
      'Earlier secrets go on working for the `overlap`, which is at most 90 days, but none for longer than an earlier rotation left it. Usage belongs to the key and stays. With an `Idempotency-Key` a repeat makes no second secret, as long as fewer than seven other such rotations came between, and answers without it.',
    body: {
      kind: 'values',
      schema: 'Rotation',
      description: 'How long the old secrets go on working.',
      fields: {
        overlap: {
          description: 'A duration; 0s ends them at once.',
          type: 'string',
          pattern: durationPattern,
          examples: ['30m', '24h', '7d'],
        },
      },
      required: ['overlap'],
      example: { overlap: '24h' },
    },
    conditional: true,
    repeatable: true,
    answers: [
      {
        status: 200,
        description: 'The key, and its new secret; no secret when the request was made before.',
        schema: 'RotatedKey',
        headers: ['ETag', 'Idempotent-Replayed'],
      },
    ],
    async handle({ id, body: { overlap = '' }, by, mark }, { book }) {
      const overlapMs = parseDuration(overlap) ?? Infinity; // too long to count
      if (mark !== undefined) return secretAnswer(await book.rotateOnce(id, { overlapMs }, by, mark), 200);
      return secretAnswer(await book.rotate(id, { overlapMs }, by), 200);
    },
  }),
  ...switches(),
];

function switches(): readonly Operation[] {
  const notInTheFile = 'A key of the configuration file with the same id goes on working.';
  const all = [
    ['revoke', 'end a key for ever', `It cannot be undone. ${notInTheFile}`],
    ['disable', 'stop a key until it is enabled', notInTheFile],
    ['enable', 'let a disabled key work again', undefined],
  ] as const;
  return all.map(([action, summary, description]) =>
    operation({
      id: `${action}Key`,
      method: 'POST',
      path: `/v1/keys/{id}/${action}`,
      tag,
      role: 'write',
      summary,
      description,
      conditional: true,
      answers: [aKey],
      handle: async ({ id, by }, { book }) => keyAnswer(await book[action](id, by)),
    }),
  );
}

/** The tag of a key in this state. Only changes move it: last use is not part of the state. */
function tagOf({ version }: Pick<KeyView, 'version'>): string {
  return `"${version}"`;
}

/** A single key, with its tag. */
function keyAnswer(key: KeyView): Answer {
  return { status: 200, headers: { ETag: tagOf(key) }, body: key };
}

/** A key whose secret is told now, or was told when the request was first made. */
function secretAnswer(fresh: FreshSecret | Repeat, status: 200 | 201): Answer {
  const headers = { ETag: tagOf(fresh.key) };
  if (fresh.secret !== null) return { status, headers, body: fresh };
  return { status: 200, headers: { ...headers, 'Idempotent-Replayed': 'true' }, body: fresh };
}
