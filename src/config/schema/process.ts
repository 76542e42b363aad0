import type { JSONSchema } from 'json-schema-to-ts';
import { duration, mapping, section, text } from './kinds.ts';

export const store = text(
  'Where keys and usage are kept: sqlite: and a file, relative to the working directory, or redis://user:password@host:6379/0, rediss:// for TLS (?ca=/file.pem for its authorities), redis+sentinel://host:26379/master, redis+cluster://host:6379. Several hosts are separated by commas.',
  { format: 'store', writeOnly: true, default: 'sqlite:./data/gatehouse.db' },
);

export const storeDeadline = duration(
  'How long to wait for one answer from the store; after that `onStoreFailure` of the plan decides.',
  { default: '250ms' },
);

export const usage = mapping(
  'Where callers read their own quotas, with GET and their own key. It costs nothing. Off when absent.',
  ['path'],
  {
    path: text('Path after basePath, such as /v1/usage. Literal segments only, and no route has it.', {
      format: 'base-path',
    }),
  },
);

export const workers = {
  description:
    'Processes that share the port, at most 256; auto is one per core. With one, no other process is started.',
  type: ['integer', 'string'],
  format: 'workers',
  minimum: 1,
  maximum: 256,
  default: 1,
} as const satisfies JSONSchema;

export const drain = section('How the gateway stops.', {
  delay: text(
    'Between "not ready" and closing the listener, so that a load balancer can stop sending requests. 0s for none.',
    { format: 'duration-or-zero', default: '0s' },
  ),
  timeout: duration('For requests in flight to finish; what is left then is cut.', { default: '30s' }),
});

export const log = section('What the process writes to its standard output.', {
  level: text('The least serious lines that are written.', {
    enum: ['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent'],
    default: 'info',
  }),
  format: text('json for machines, pretty for people, auto for pretty on a terminal and json elsewhere.', {
    enum: ['auto', 'json', 'pretty'],
    default: 'auto',
  }),
});
