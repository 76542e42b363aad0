import { createKeyFormat } from '../../keys/key-format.ts';
import { operation, type Operation } from '../operation.ts';
import { verifyRequest } from '../verify-request.ts';
import { pageQuery } from './page-query.ts';

/** What can be read about secrets and changes. */
export const readOperations: readonly Operation[] = [
  operation({
    id: 'verifyKey',
    method: 'POST',
    path: '/v1/verify',
    tag: 'Keys',
    role: 'read',
    summary: 'say what the gateway would say to a secret, and why',
    description: 'The secret stands in the body and never in a URL. Nothing is charged or counted.',
    body: {
      kind: 'values',
      schema: 'Verification',
      description: 'A secret, and a request that somebody might send with it.',
      fields: {
        secret: {
          description: 'What the caller sends. It is kept nowhere.',
          type: 'string',
          maxLength: 4096,
        },
        from: { description: 'As if it came from this address.', type: 'string', maxLength: 64 },
        path: {
          description: 'As if this path was asked for, with its query if it has one.',
          type: 'string',
          maxLength: 65_536,
        },
        method: {
          description: 'As if by this method; GET when absent.',
          type: 'string',
          pattern: '^[A-Za-z-]{1,16}$',
          examples: ['GET', 'POST'],
        },
      },
      required: ['secret'],
      example: { secret: 'what-the-caller-sends', path: '/v1/name', method: 'POST' },
    },
    answers: [{ status: 200, description: 'The verdict, good or bad.', schema: 'Verdict' }],
    handle: async ({ body: { secret = '', ...request } }, desk) => ({
      status: 200,
      body: await verifyRequest(secret, request, desk),
    }),
  }),
  operation({
    id: 'showPattern',
    method: 'GET',
    path: '/v1/pattern',
    tag: 'Keys',
    role: 'read',
    summary: 'tell the regular expression of the keys made here, for secret scanners',
    answers: [{ status: 200, description: 'The pattern.', schema: 'Pattern' }],
    handle: async (_call, { config }) => ({
      status: 200,
      body: { pattern: createKeyFormat(config.auth.prefix).pattern },
    }),
  }),
  operation({
    id: 'listAudit',
    method: 'GET',
    path: '/v1/audit',
    tag: 'Audit',
    role: 'read',
    summary: 'say who changed which key or set its usage, newest first',
    query: {
      key: { description: 'Only entries of this key.', type: 'string', maxLength: 64 },
      ...pageQuery,
    },
    answers: [{ status: 200, description: 'A page of the audit log.', schema: 'AuditPage' }],
    async handle({ query: { key: keyId, ...query } }, { book }) {
      const { items: entries, ...page } = await book.listAudit({ ...query, keyId });
      return { status: 200, body: { entries, ...page } };
    },
  }),
];
