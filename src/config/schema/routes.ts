import { costMax } from '../plan-rule.ts';
import { boolean, duration, integer, list, mapping, size, text } from './kinds.ts';
import { onMismatch } from './mismatches.ts';
import { file, upload } from './uploads.ts';

/** The methods a route can allow. CONNECT and TRACE are not among them, so no route ever lets them through. */
const methods = [
  'GET',
  'HEAD',
  'POST',
  'PUT',
  'PATCH',
  'DELETE',
  'OPTIONS',
  'QUERY',
  'PROPFIND',
  'PROPPATCH',
  'MKCOL',
  'COPY',
  'MOVE',
  'LOCK',
  'UNLOCK',
  'REPORT',
  'SEARCH',
] as const;

/** The methods that a route for these answers: HEAD wherever GET is. */
export function answeredMethods(allowed: readonly string[]): ReadonlySet<string> {
  return new Set(allowed.includes('GET') ? [...allowed, 'HEAD'] : allowed);
}

const json = mapping('Take a JSON body (RFC 8259, UTF-8), checked before the upstream sees it.', [], {
  maxSize: size('Largest body.', { default: '64KB' }),
  maxDepth: integer('How deep objects and arrays may be nested.', {
    minimum: 1,
    maximum: 1000,
    default: 32,
  }),
  maxValues: integer('How many objects, arrays and other values there may be in all.', {
    minimum: 1,
    default: 200_000,
  }),
  suffixed: boolean('Take application/*+json beside application/json.', { default: false }),
  schema: {
    description:
      'JSON Schema (draft 2020-12) of the body; any JSON passes when absent. ${…} is not expanded inside it.',
    type: 'object',
  },
  onMismatch,
});

const any = mapping(
  'Take any body of any content type, of which only the size is checked. What is larger than 64KB is forwarded while it arrives.',
  [],
  {
    maxSize: size('Largest body.', { default: '1MB' }),
    minRate: size(
      'Bytes per second that the client must send while it is waited for; no minimum when absent.',
    ),
    timeout: duration(
      'How long the client may be waited for until all of the body is there; limits.requestTimeout when absent.',
    ),
  },
);

/** For WebSockets that are let through without further options. */
export const websocketDefaults = { idleTimeout: '5m', maxSockets: 256 } as const;

const websocket = mapping('Let WebSockets (RFC 6455) through.', [], {
  idleTimeout: duration('How long neither side may say anything before both are closed.', {
    default: websocketDefaults.idleTimeout,
  }),
  maxSockets: integer('Open sockets of this route. Each of them counts as a request in flight, too.', {
    minimum: 1,
    maximum: 1_000_000,
    default: websocketDefaults.maxSockets,
  }),
});

export const routes = list('The endpoints. What is not listed is refused.', {
  minItems: 1,
  items: mapping('One endpoint.', ['path', 'methods'], {
    name: text('Name in logs and metrics; the path when absent.', { format: 'title', maxLength: 100 }),
    path: text(
      'Path after basePath. A segment is literal text, ":name" for any one segment, or a final "*" for one or more. The most exact route wins.',
      { format: 'path' },
    ),
    methods: list('Allowed methods in upper case. HEAD is allowed wherever GET is.', {
      minItems: 1,
      uniqueItems: true,
      items: text('One method.', { enum: methods }),
    }),
    upstream: text("Name under `upstreams`; the version's when absent."),
    cost: integer('Units of quota that one request takes; 0 for none.', {
      minimum: 0,
      maximum: costMax,
      default: 1,
    }),
    costHeader: text(
      'Response header in which the upstream may say what the request really cost, a whole number of units. The caller never sees it.',
      { format: 'cost-header' },
    ),
    body: {
      description:
        'What body is taken: none (the default, a request with a body is refused), json, upload, file or any.',
      type: ['object', 'string'],
      format: 'none',
      additionalProperties: false,
      minProperties: 1,
      maxProperties: 1,
      properties: { json, upload, file, any },
      default: 'none',
    },
    upgrade: {
      description:
        'What the connection may be upgraded to: none (the default) or websocket. Nothing else is ever passed on.',
      type: ['object', 'string'],
      format: 'upgrade',
      additionalProperties: false,
      minProperties: 1,
      maxProperties: 1,
      properties: { websocket },
      default: 'none',
    },
  }),
});
