import type { Surroundings } from './surroundings.ts';

/** How one line of the gateway differs from another. */
export interface Variant {
  readonly store: 'redis' | 'sqlite';
  readonly quotas: 'leased' | 'strict' | 'none';
  /** Keys in the file, or in the store, which `keys import` fills. */
  readonly keysIn: 'file' | 'store';
  /** How the route for uploads forwards them, if there is one. */
  readonly uploads: 'whole' | 'stream' | undefined;
  readonly workers: number;
}

interface Ports {
  readonly listen: number;
  readonly admin: number;
}

/** The configuration of the gateway, as a user would write it; JSON is YAML too. */
export function gatewayYaml(
  variant: Variant,
  ports: Ports,
  { folder, keys, ...around }: Surroundings,
): string {
  const consistency = variant.quotas === 'strict' ? { consistency: 'strict' } : {};
  const plan = (limit: number) =>
    variant.quotas === 'none' ? {} : { quotas: [{ name: 'monthly', limit, per: 'month' }], ...consistency };
  const name = { type: 'string', pattern: '\\S', maxLength: 256 };
  const api = '/v1/voice-gender-recognition/api';
  const upload = {
    path: `${api}/voice`,
    methods: ['POST'],
    upstream: 'sink',
    body: {
      upload: {
        maxSize: '12MB',
        files: { file: { required: true, maxSize: '11MB', types: ['audio/wav'] } },
        forward: variant.uploads,
      },
    },
  };
  return JSON.stringify(
    {
      listen: `127.0.0.1:${ports.listen}`,
      admin: { listen: `127.0.0.1:${ports.admin}` },
      ...(variant.workers === 1 ? {} : { workers: variant.workers }),
      store:
        variant.store === 'redis'
          ? `redis://127.0.0.1:${around.redis?.port ?? 0}`
          : `sqlite:${folder}/gatehouse-${ports.listen}.db`,
      // A load of invalid keys would be told to slow down, which the peers do not answer.
      auth: { guessing: { enabled: false } },
      plans: { bench: plan(1_000_000_000), spent: plan(1) },
      keys: variant.keysIn === 'file' ? staticKeys(keys) : [],
      upstreams: {
        upstream: { targets: [`http://127.0.0.1:${around.upstream.port}`] },
        sink: { targets: [`http://127.0.0.1:${around.sink.port}`] },
      },
      versions: { v1: { upstream: 'upstream' } },
      routes: [
        {
          path: `${api}/name`,
          methods: ['POST'],
          body: {
            json: {
              maxSize: '16KB',
              schema: {
                type: 'object',
                required: ['firstName', 'lastName'],
                properties: { firstName: name, lastName: name },
              },
            },
          },
        },
        { path: `${api}/big`, methods: ['GET'] },
        ...(variant.uploads === undefined ? [] : [upload]),
      ],
      log: { level: 'info', format: 'json' },
    },
    undefined,
    2,
  );
}

/** The secret of a key by its number; the load knows it too. */
export function secretOf(number: number): string {
  return `bench-key-${String(number).padStart(10, '0')}`;
}

function staticKeys(count: number) {
  const keys = Array.from({ length: count }, (_, n) => ({ id: `k${n}`, plan: 'bench', secret: secretOf(n) }));
  return [...keys, { id: 'spent', plan: 'spent', secret: 'bench-key-spent-0000' }];
}
