import type { JSONSchema } from 'json-schema-to-ts';
import { costMax } from '../plan-rule.ts';
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

const json = {
  description: 'Take a JSON body (RFC 8259, UTF-8), checked before the upstream sees it.',
  type: 'object',
  additionalProperties: false,
  properties: {
    maxSize: { description: 'Largest body.', type: 'string', format: 'size', default: '64KB' },
    maxDepth: {
      description: 'How deep objects and arrays may be nested.',
      type: 'integer',
      minimum: 1,
      maximum: 1000,
      default: 32,
    },
    maxValues: {
      description: 'How many objects, arrays and other values there may be in all.',
      type: 'integer',
      minimum: 1,
      default: 200_000,
    },
    suffixed: {
      description: 'Take application/*+json beside application/json.',
      type: 'boolean',
      default: false,
    },
    schema: {
      description:
        'JSON Schema (draft 2020-12) of the body; any JSON passes when absent. ${…} is not expanded inside it.',
      type: 'object',
    },
  },
} as const satisfies JSONSchema;

const any = {
  description:
    'Take any body of any content type, of which only the size is checked. What is larger than 64KB is forwarded while it arrives.',
  type: 'object',
  additionalProperties: false,
  properties: {
    maxSize: { description: 'Largest body.', type: 'string', format: 'size', default: '1MB' },
    minRate: {
      description:
        'Bytes per second that the client must send while it is waited for; no minimum when absent.',
      type: 'string',
      format: 'size',
    },
    timeout: {
      description:
        'How long the client may be waited for until all of the body is there; limits.requestTimeout when absent.',
      type: 'string',
      format: 'duration',
    },
  },
} as const satisfies JSONSchema;

/** For WebSockets that are let through without further options. */
export const websocketDefaults = { idleTimeout: '5m', maxSockets: 256 } as const;

const websocket = {
  description: 'Let WebSockets (RFC 6455) through.',
  type: 'object',
  additionalProperties: false,
  properties: {
    idleTimeout: {
      description: 'How long neither side may say anything before both are closed.',
      type: 'string',
      format: 'duration',
      default: websocketDefaults.idleTimeout,
    },
    maxSockets: {
      description: 'Open sockets of this route. Each of them counts as a request in flight, too.',
      type: 'integer',
      minimum: 1,
      maximum: 1_000_000,
      default: websocketDefaults.maxSockets,
    },
  },
} as const satisfies JSONSchema;

/** What the gateway lets through, and where to. */
export const routes = {
  description: 'The endpoints. What is not listed is refused.',
  type: 'array',
  minItems: 1,
  items: {
    description: 'One endpoint.',
    type: 'object',
    additionalProperties: false,
    required: ['path', 'methods'],
    properties: {
      name: {
        description: 'Name in logs and metrics; the path when absent.',
        type: 'string',
        format: 'title',
        maxLength: 100,
      },
      path: {
        description:
          'Path after basePath. A segment is literal text, ":name" for any one segment, or a final "*" for one or more. The most exact route wins.',
        type: 'string',
        format: 'path',
      },
      methods: {
        description: 'Allowed methods in upper case. HEAD is allowed wherever GET is.',
        type: 'array',
        minItems: 1,
        uniqueItems: true,
        items: { description: 'One method.', type: 'string', enum: methods },
      },
      upstream: { description: "Name under `upstreams`; the version's when absent.", type: 'string' },
      cost: {
        description: 'Units of quota that one request takes; 0 for none.',
        type: 'integer',
        minimum: 0,
        maximum: costMax,
        default: 1,
      },
      costHeader: {
        description:
          'Response header in which the upstream may say what the request really cost, a whole number of units. The caller never sees it.',
        type: 'string',
        format: 'cost-header',
      },
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
    },
  },
} as const satisfies JSONSchema;
