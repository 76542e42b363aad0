import type { Load } from './load.ts';

/** One question put to some subjects. */
export interface Scenario {
  readonly name: string;
  readonly title: string;
  readonly load: Load;
  /** Names of subjects; those that cannot run are left out with a word. */
  readonly subjects: readonly string[];
  /** Keys that the gateway and the peers know. */
  readonly keys: number;
  /** Run by `--quick`. */
  readonly quick?: readonly string[];
  /** A process of its own for each round: processes of the same code differ by a third. */
  readonly startsAnew?: true;
  /** Load relative to the peak that the gateway showed in the scenario `name-64`. */
  readonly partOfPeak?: number;
}

const folder = '/v1/voice-gender-recognition/api';
const call = (key: string | undefined, body: string): string =>
  `{ method = 'POST', path = '${folder}/name', headers = { ['Content-Type'] = 'application/json'${
    key === undefined ? '' : `, apiKey = '${key}'`
  } }, body = '${body}' }`;

const body = '{"firstName":"Ada","lastName":"Lovelace"}';
const firstKey = 'bench-key-0000000000';
const name = call(firstKey, body);
const missing = call(undefined, body);
const invalid = call('bench-key-unknown-00', body);
const spent = call('bench-key-spent-0000', body);
const bad = call(firstKey, '{"firstName":"Ada"}');
const big = `{ method = 'GET', path = '${folder}/big', headers = { apiKey = '${firstKey}' } }`;
const send = (...requests: readonly string[]): string => `requests = { ${requests.join(', ')} }`;

/** A form with one file of 10 MB, made when wrk starts. */
const upload = `
local wav = 'RIFF\\0\\0\\160\\0WAVEfmt \\16\\0\\0\\0\\1\\0\\1\\0\\128\\62\\0\\0\\0\\125\\0\\0\\2\\0\\16\\0data\\0\\0\\160\\0'
local file = wav .. string.rep('\\0', 10 * 1024 * 1024 - #wav - 1024)
requests = { {
  method = 'POST', path = '${folder}/voice',
  headers = { apiKey = '${firstKey}', ['Content-Type'] = 'multipart/form-data; boundary=bench' },
  body = '--bench\\r\\nContent-Disposition: form-data; name="file"; filename="a.wav"\\r\\n' ..
    'Content-Type: audio/wav\\r\\n\\r\\n' .. file .. '\\r\\n--bench--\\r\\n',
} }`;

/** Each request with another of the keys, at random, and in each round others: the same again would be remembered by then. */
const manyKeys = (count: number): string => `
math.randomseed(os.time())
requests = { function()
  local key = string.format('bench-key-%010d', math.random(0, ${count - 1}))
  return wrk.format('POST', '${folder}/name',
    { ['Content-Type'] = 'application/json', apiKey = key }, '${body}')
end }`;

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

const full = (connections: number, script: string, refused: Load['refused'] = 'none'): Load => ({
  connections,
  script,
  refused,
});

/** Everything that is measured, in this order. */
export const scenarios: readonly Scenario[] = [
  {
    name: 'name-64',
    title: 'The name call, 64 connections',
    startsAnew: true,
    load: full(64, send(name)),
    subjects: [...passthroughs, ...peers, ...gateways],
    keys: 1000,
    quick: ['direct', 'node + undici', ...peers, ...first],
  },
  {
    name: 'name-1',
    title: 'The name call, 1 connection',
    load: full(1, send(name)),
    subjects: [...passthroughs, ...peers, ...first],
    keys: 1000,
  },
  {
    name: 'name-512',
    title: 'The name call, 512 connections',
    load: full(512, send(name)),
    subjects: [...passthroughs, ...peers, ...first],
    keys: 1000,
  },
  {
    name: 'half-load',
    title: 'The name call at half of the load that the gateway can take, 64 connections',
    load: full(64, send(name)),
    subjects: ['node + undici', ...peers, ...first],
    keys: 1000,
    partOfPeak: 0.5,
  },
  {
    name: 'missing-key',
    title: 'Refused: no key',
    load: full(64, send(missing), 'all'),
    subjects: ['constant', ...peers, ...first],
    keys: 1000,
    quick: ['constant', ...first],
  },
  {
    name: 'invalid-key',
    title: 'Refused: an invalid key',
    load: full(64, send(invalid), 'all'),
    subjects: ['constant', ...peers, ...first],
    keys: 1000,
  },
  {
    name: 'no-quota-left',
    title: 'Refused: no quota left',
    load: full(64, send(spent), 'all'),
    subjects: [...peers, 'gatehouse', 'gatehouse strict', 'gatehouse sqlite'],
    keys: 1000,
  },
  {
    name: 'bad-body',
    title: 'Refused: a body that fails its schema',
    load: full(64, send(bad), 'all'),
    subjects: [...peers, ...first],
    keys: 1000,
  },
  {
    name: 'big-answer',
    title: 'An answer of 1 MB, 16 connections',
    load: full(16, send(big)),
    subjects: [...passthroughs, ...peers, ...first],
    keys: 1000,
  },
  {
    name: 'upload',
    title: 'An upload of 10 MB, 8 connections',
    load: full(8, upload),
    subjects: ['node + undici', 'http-proxy', ...peers, 'gatehouse uploads'],
    keys: 1000,
  },
  {
    name: 'mix',
    title: 'A mix: 8 of 10 calls are in order, 64 connections',
    load: full(64, send(name, name, name, name, missing, name, name, name, name, bad), 'some'),
    subjects: [...peers, ...first],
    keys: 1000,
  },
  {
    name: 'keys-1000',
    title: '1,000 keys in the store, called at random, 64 connections',
    load: full(64, manyKeys(1000)),
    subjects: ['gatehouse stored keys', 'gatehouse sqlite stored keys'],
    keys: 1000,
  },
  {
    name: 'keys-1000000',
    title: '1,000,000 keys in the store, called at random, 64 connections',
    load: full(64, manyKeys(1_000_000)),
    subjects: ['gatehouse stored keys', 'gatehouse sqlite stored keys'],
    keys: 1_000_000,
  },
  {
    name: 'workers',
    title: 'Workers, 64 connections; on a machine with two cores they share them with the load',
    load: full(64, send(name)),
    subjects: ['gatehouse on all cores', 'gatehouse 2 workers'],
    keys: 1000,
  },
];
