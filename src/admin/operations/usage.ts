import { operation, type Operation } from '../operation.ts';

const tag = 'Usage';

/** What keys have used of their quotas, including keys of the configuration file. */
export const usageOperations: readonly Operation[] = [
  operation({
    id: 'showUsage',
    method: 'GET',
    path: '/v1/keys/{id}/usage',
    tag,
    role: 'read',
    summary: 'show what a key has used of its quotas',
    query: {
      ended: {
        description:
          'The periods before the current ones, which are kept for a day; otherwise the current ones.',
        type: 'boolean',
      },
    },
    answers: [{ status: 200, description: 'The quotas of the key.', schema: 'Usage' }],
    handle: async ({ id, query }, { usage }) => ({ status: 200, body: await usage.read(id, query) }),
  }),
  operation({
    id: 'setUsage',
    method: 'POST',
    path: '/v1/keys/{id}/usage/set',
    tag,
    role: 'write',
    summary: 'set what a key has used of a quota, in the current period',
    description:
      'Sent again it adds nothing. What gateways hold ahead at that moment stays counted besides, as they may still spend it. Above the limit nothing remains.',
    body: {
      kind: 'values',
      schema: 'UsageSetting',
      description: 'The quota, and how many of its units are used from now on.',
      fields: {
        quota: { description: 'Its name.', type: 'string', maxLength: 64 },
        used: { description: 'Without what gateways hold ahead.', type: 'integer', minimum: 0 },
      },
      required: ['quota', 'used'],
      example: { quota: 'monthly', used: 900 },
    },
    answers: [{ status: 200, description: 'The quota that was set.', schema: 'Usage' }],
    handle: async ({ id, body: { quota, used = 0 }, by }, { usage }) => ({
      status: 200,
      body: await usage.set(await usage.choose(id, quota), used, by),
    }),
  }),
  operation({
    id: 'resetUsage',
    method: 'POST',
    path: '/v1/keys/{id}/usage/reset',
    tag,
    role: 'write',
    summary: 'set the usage of a key to zero, in the current periods',
    description: 'What gateways hold ahead at that moment stays counted, as they may still spend it.',
    body: {
      kind: 'values',
      schema: 'UsageReset',
      description: 'The quota to set to zero; `{}`, or no body, for all of them.',
      fields: { quota: { description: 'Its name.', type: 'string', maxLength: 64 } },
      required: [],
      example: { quota: 'monthly' },
    },
    answers: [{ status: 200, description: 'The quotas that were set to zero.', schema: 'Usage' }],
    handle: async ({ id, body: { quota }, by }, { usage }) => ({
      status: 200,
      body: await usage.set(await usage.choose(id, quota), 0, by),
    }),
  }),
];
