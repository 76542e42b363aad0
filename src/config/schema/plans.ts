import type { JSONSchema } from 'json-schema-to-ts';
import { periodUnits } from '../plan-rule.ts';
import { boolean, integer, list, mapping, text } from './kinds.ts';

const quota = mapping(
  'Units that a key may use in a calendar period. One request takes the `cost` of its route.',
  ['name', 'limit', 'per'],
  {
    name: text(
      'Name of the quota in headers, logs and the store, unique in the plan. Usage is kept under it: a quota of another name starts from zero, any other change except one of the period keeps what was used.',
      { format: 'quota-name' },
    ),
    limit: integer('Units in one period. Lowering it below what was used denies at once.', {
      minimum: 1,
      maximum: Number.MAX_SAFE_INTEGER,
    }),
    per: text('The calendar period; a lifetime has no end.', { enum: periodUnits }),
    timezone: text(
      'IANA name of the zone whose calendar and clock the periods follow, such as Europe/Berlin; UTC when absent.',
      { format: 'timezone' },
    ),
    anchor: {
      description:
        'Where the period starts: a weekday for a week (monday when absent), a day from 1 to 31 for a month, a month and day such as 04-01 for a year. A day that a month does not have is its last.',
      type: ['integer', 'string'],
      format: 'anchor',
      minimum: 1,
      maximum: 31,
    },
    at: text('Time on the wall clock at which a day, week, month or year starts; midnight when absent.', {
      format: 'time',
    }),
    warnAt: text(
      'From this part of the limit on, answers carry X-Gatehouse-Quota-Warning, and one line a period goes to the log.',
      { format: 'percent' },
    ),
  },
);

const rate = mapping('How fast a key may call, in all gateways together.', ['limit', 'per'], {
  limit: integer('Requests in the long run.', { minimum: 1, maximum: 1_000_000 }),
  per: text('The time that `limit` is for.', { enum: ['second', 'minute', 'hour'] }),
  burst: integer('Requests at once after a rest; `limit` when absent.', { minimum: 1, maximum: 1_000_000 }),
});

const concurrency = {
  description:
    'Requests of a key in flight: a number, which each process counts for itself, or limit and shared.',
  type: ['integer', 'object'],
  minimum: 1,
  maximum: 1_000_000,
  additionalProperties: false,
  required: ['limit'],
  properties: {
    limit: integer('Requests at one time.', { minimum: 1, maximum: 1_000_000 }),
    shared: boolean(
      'Count in the store for all processes together, which costs each request two calls. A process that crashes frees its places after 30 s.',
      { default: false },
    ),
  },
} as const satisfies JSONSchema;

export const plans = {
  description:
    'Plans by name. Every key belongs to one; its name travels to the upstream in X-Gatehouse-Plan.',
  type: 'object',
  propertyNames: { format: 'name' },
  additionalProperties: mapping('A plan. Write {} for one without limits.', [], {
    quotas: list('All of them limit each request.', { items: quota, default: [] }),
    rate,
    concurrency,
    charge: text(
      'What counts: forwarded is every request sent to the upstream, answered those it answered below 500, success those below 400. Only forwarded charges a refusal, if something had already left for the upstream.',
      { enum: ['forwarded', 'answered', 'success'], default: 'answered' },
    ),
    consistency: text(
      'leased draws units from the store ahead, so that few requests wait for it; a crash loses at most the units drawn. strict asks for each request.',
      { enum: ['leased', 'strict'], default: 'leased' },
    ),
    onStoreFailure: text(
      'When the store cannot be asked: refuse answers 503, allow lets requests through and counts them when the store is back. Danger: until then allow knows no limit.',
      { enum: ['refuse', 'allow'], default: 'refuse' },
    ),
  }),
  default: {},
} as const satisfies JSONSchema;
