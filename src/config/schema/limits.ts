import { duration, integer, section, size } from './kinds.ts';

export const limits = section('The most that the process takes on. None of them can be switched off.', {
  connections: integer('Open client connections; more are closed at once.', {
    minimum: 1,
    maximum: 1_000_000,
    default: 10_000,
  }),
  inFlight: integer('Requests being worked on in the whole process; more are answered 503.', {
    minimum: 1,
    maximum: 1_000_000,
    default: 1000,
  }),
  inFlightPerConnection: integer(
    'Pipelined requests of one connection being worked on, or waiting for their turn: unsafe ones go one by one.',
    { minimum: 1, maximum: 1000, default: 10 },
  ),
  headerSize: size(
    'The path of a request, its query, and the names and values of all its headers together.',
    { default: '16KB' },
  ),
  headerCount: integer('Header lines of a request, and as many trailers. One more ends the connection.', {
    minimum: 1,
    maximum: 2000,
    default: 100,
  }),
  headerTimeout: duration(
    'To the end of the headers of a request, from its first byte or from the opening of its connection.',
    { default: '10s' },
  ),
  requestTimeout: duration(
    'From the end of the headers to the end of a body that sets no timeout of its own.',
    { default: '30s' },
  ),
  keepAlive: duration(
    'How long an idle client connection is kept, as clients are told in whole seconds. It is closed a second later, so that none is closed under a request.',
    { default: '5s' },
  ),
  stalledReader: duration(
    'How long a client may take nothing of an answer that waits for it; then it is cut. Linux shows what it takes in steps of up to 1.4MB.',
    { default: '60s' },
  ),
  bodyMemory: size(
    'All request bodies held in memory at one time: JSON, text fields of forms, others up to 64KB. None may be larger.',
    { default: '256MB' },
  ),
});
