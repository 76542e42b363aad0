import { hash } from 'node:crypto';
import { Ajv } from 'ajv';

/** What every peer is told, as the gateway is by its YAML. */
export const port = Number(process.env.BENCH_PORT);
export const upstream = process.env.BENCH_UPSTREAM;
export const sink = process.env.BENCH_SINK;
export const redisPort = Number(process.env.BENCH_REDIS_PORT);

/** Where log lines go: handed over in large pieces, as the gateway does, and not line by line. */
export const logTo = { dest: 1, sync: false, minLength: 65_536, maxWrite: 131_072, periodicFlush: 200 };

const keyCount = Number(process.env.BENCH_KEYS ?? 1000);
const limit = 1_000_000_000;
const callers = new Map();
for (let n = 0; n < keyCount; n += 1) callers.set(digest(keyOf(n)), { id: `k${n}`, plan: 'bench', limit });
callers.set(digest('bench-key-spent-0000'), { id: 'spent', plan: 'spent', limit: 1 });

/** The caller whose key this is: keys rest as SHA-256 here too. */
export function callerOf(key) {
  return callers.get(digest(key));
}

function keyOf(n) {
  return `bench-key-${String(n).padStart(10, '0')}`;
}

function digest(key) {
  return hash('sha256', key, 'hex');
}

const name = { type: 'string', pattern: '\\S', maxLength: 256 };

/** Whether the body of the name call is in order. */
export const isName = new Ajv().compile({
  type: 'object',
  required: ['firstName', 'lastName'],
  properties: { firstName: name, lastName: name },
});

/** The month that a quota counts in, as a part of its key in Redis. */
export function month() {
  return new Date().toISOString().slice(0, 7);
}
