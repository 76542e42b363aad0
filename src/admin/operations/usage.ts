import { viewUsage } from '../../quota/usage-book.ts';
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
    handle: async ({ id, query }, { usage }) => ({
      status: 200,
      body: viewUsage(await usage.read(id, query)),
    }),
  }),
  operation({
    id: 'resetUsage',
    method: 'POST',
    path: '/v1/keys/{id}/usage/reset',
    tag,
    role: 'write',
    summary: 'set the usage of a key to zero, in the current periods',
    description: 'Gateways may still spend what they hold ahead at that moment.',
    body: {
      kind: 'values',
      schema: 'UsageReset',
      description: 'The quota to set to zero; `{}`, or no body, for all of them.',
      fields: { quota: { description: 'Its name.', type: 'string', maxLength: 64 } },
      required: [],
      example: { quota: 'monthly' },
    },
    answers: [{ status: 200, description: 'The quotas that were set to zero.', schema: 'Usage' }],
    handle: async ({ id, body: { quota } }, { usage }) => ({
      status: 200,
      body: viewUsage(await usage.reset(id, quota)),
    }),
  }),
];
