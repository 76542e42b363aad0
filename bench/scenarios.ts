import { formBody } from '../test/helpers/form-body.ts';
import { wav } from '../test/helpers/sample-files.ts';
import { secretOf } from './gateway-yaml.ts';
import type { Load, Request } from './load.ts';
import { findProgram } from './machine.ts';

/** One question put to some subjects. */
export interface Scenario {
  readonly name: string;
  readonly title: string;
  readonly load: Load;
  /** Names of subjects; those that cannot run are left out with the reason. */
  readonly subjects: readonly string[];
  /** Run by `--quick`: so few that each can be warm within its minute. */
  readonly quick?: readonly string[];
  /** Several processes of each subject, one after another: processes of the same code differ by a third. */
  readonly startsAnew?: true;
  /** How many keys the gateway and the peers know, if it is not as many as are called. */
  readonly keysKnown?: number;
  /** Load relative to the peak that the gateway showed in the scenario `name-64`. */
  readonly partOfPeak?: number;
}

/** How many keys the gateway and the peers know. */
export function keysOf({ keysKnown, load }: Scenario): number {
  return keysKnown ?? load.keysAtRandom ?? 1000;
}

const folder = '/v1/voice-gender-recognition/api';
const body = '{"firstName":"Ada","lastName":"Lovelace"}';
const firstKey = secretOf(0);

const call = (status: number, apiKey: string | undefined, text: string): Request => ({
  method: 'POST',
  path: `${folder}/name`,
  headers: { 'Content-Type': 'application/json', ...(apiKey === undefined ? {} : { apiKey }) },
  body: () => text,
  status,
});

const name = call(200, firstKey, body);
const missing = call(401, undefined, body);
const invalid = call(401, 'bench-key-unknown-00', body);
const spent = call(429, 'bench-key-spent-0000', body);
const bad = call(400, firstKey, '{"firstName":"Ada"}');
const big: Request = { method: 'GET', path: `${folder}/big`, headers: { apiKey: firstKey }, status: 200 };

const upload: Request = {
  method: 'POST',
  path: `${folder}/voice`,
  headers: { apiKey: firstKey, 'Content-Type': 'multipart/form-data; boundary=bench' },
  body: formWithSound,
  status: 200,
};

/** A form with one WAV file of 10 MB. */
function formWithSound(): string {
  const sound = { name: 'file', fileName: 'a.wav', type: 'audio/wav', data: wav(10 * 1024 * 1024) };
  return formBody([sound], 'bench').toString('latin1');
}

const gateways = [
  'gatehouse',
  'gatehouse strict',
  'gatehouse sqlite',
  'gatehouse sqlite strict',
  'gatehouse no quota',
];
const peers = ['nginx + lua + redis', 'fastify', 'express'];
const passthroughs = ['direct', 'nginx', 'haproxy', 'node + undici', 'http-proxy'];
const first = ['gatehouse', 'gatehouse no quota'];
const storedKeys = ['gatehouse stored keys', 'gatehouse sqlite stored keys'];
/** The minute of `--quick` has time for one gateway: for this one where the other cannot run. */
const quickGateways = [
  'gatehouse',
  ...(findProgram('redis-server') === undefined ? ['gatehouse sqlite'] : []),
];

const full = (connections: number, ...requests: readonly Request[]): Load => ({ connections, requests });

/** Everything that is measured, in this order. */
export const scenarios: readonly Scenario[] = [
  {
    name: 'name-64',
    title: 'The name call, 64 connections',
    startsAnew: true,
    load: full(64, name),
    subjects: [...passthroughs, ...peers, ...gateways],
    quick: ['node + undici', 'nginx + lua + redis', 'fastify', ...quickGateways],
  },
  {
    name: 'name-1',
    title: 'The name call, 1 connection',
    load: full(1, name),
    subjects: [...passthroughs, ...peers, ...first],
  },
  {
    name: 'name-512',
    title: 'The name call, 512 connections',
    load: full(512, name),
    subjects: [...passthroughs, ...peers, ...first],
  },
  {
    name: 'half-load',
    startsAnew: true,
    title: 'The name call at half of the load that the gateway can take, 64 connections',
    load: full(64, name),
    subjects: ['node + undici', ...peers, ...first],
    partOfPeak: 0.5,
  },
  {
    name: 'missing-key',
    startsAnew: true,
    title: 'Refused: no key',
    load: full(64, missing),
    subjects: ['constant', ...peers, ...first],
    quick: ['constant', ...quickGateways],
  },
  {
    name: 'invalid-key',
    title: 'Refused: an invalid key',
    load: full(64, invalid),
    subjects: ['constant', ...peers, ...first],
  },
  {
    name: 'no-quota-left',
    title: 'Refused: no quota left',
    load: full(64, spent),
    subjects: [...peers, 'gatehouse', 'gatehouse strict', 'gatehouse sqlite'],
  },
  {
    name: 'bad-body',
    title: 'Refused: a body that fails its schema',
    load: full(64, bad),
    subjects: [...peers, ...first],
  },
  {
    name: 'big-answer',
    title: 'An answer of 1 MB, 16 connections',
    load: full(16, big),
    subjects: [...passthroughs, ...peers, ...first],
  },
  {
    name: 'upload',
    title: 'An upload of 10 MB, 8 connections',
    load: full(8, upload),
    subjects: ['node + undici', 'http-proxy', ...peers, 'gatehouse uploads', 'gatehouse uploads stream'],
  },
  {
    name: 'mix',
    title: 'A mix: 8 of 10 calls are in order, 64 connections',
    load: full(64, name, name, name, name, missing, name, name, name, name, bad),
    subjects: [...peers, ...first],
  },
  {
    name: 'keys-1000',
    title: '1,000 keys called at random, 64 connections',
    load: { ...full(64, name), keysAtRandom: 1000 },
    subjects: [...peers, ...storedKeys],
  },
  {
    name: 'keys-known',
    startsAnew: true,
    title: '1,000,000 keys, 1,000 of them called at random, 64 connections',
    keysKnown: 1_000_000,
    load: { ...full(64, name), keysAtRandom: 1000 },
    subjects: [...peers, 'gatehouse 1,000 stored keys', ...storedKeys],
  },
  {
    name: 'keys-1000000',
    startsAnew: true,
    title: '1,000,000 keys called at random, 64 connections',
    load: { ...full(64, name), keysAtRandom: 1_000_000 },
    subjects: [...peers, 'gatehouse 1,000 stored keys', ...storedKeys],
  },
  {
    name: 'workers',
    title: 'Workers, 64 connections; on a machine with two cores they share them with load and Redis',
    load: full(64, name),
    subjects: ['gatehouse on all cores', 'gatehouse 2 workers', 'gatehouse sqlite 2 workers'],
  },
];
