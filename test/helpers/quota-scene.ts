import { request } from 'undici';
import { until, type Scene } from './poll.ts';
import { startRecordingUpstream, type RecordingUpstream } from './recording-upstream.ts';
import { startGateway, type Gateway, type GatewayOptions, type Yaml } from './start-gateway.ts';
import { tempFolder } from './temp-folder.ts';

/** The path of the scene's free route for any method and body, below `/v1`. */
export const workPath = '/v1/work';
/** Where callers of the scene read their own usage. */
export const usagePath = '/v1/usage';

/** What a caller got. */
export interface Answer {
  readonly status: number;
  readonly refusal: string | undefined;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly text: string;
}

/** An upstream and a store that any number of gateways share. */
export interface QuotaScene {
  readonly upstream: RecordingUpstream;
  readonly store: string;
  /** Starts a gateway; the configuration is laid over the scene's own. */
  start(over?: Yaml, options?: GatewayOptions): Promise<Gateway>;
}

/** Starts the upstream. Without a store it is one SQLite file. */
export async function openQuotaScene(
  t: Scene,
  config: Yaml,
  store = `sqlite:${tempFolder(t)}/gatehouse.db`,
): Promise<QuotaScene> {
  const upstream = await startRecordingUpstream(t, (_request, res) => res.end('ok'));
  return {
    upstream,
    store,
    start: (over = {}, options = {}) =>
      startGateway(t, { ...quotaConfig, store, ...config, ...over }, { upstream: upstream.url, ...options }),
  };
}

/** The secret of the key with this id. */
export function secretOf(id: string): string {
  return `secret-of-the-key-${id}`;
}

/** Keys as the configuration has them. */
export function keysOf(plan: string, ...ids: readonly string[]): object[] {
  return ids.map((id) => ({ id, plan, secret: secretOf(id) }));
}

interface CallOptions {
  readonly key?: string;
  readonly path?: string;
  readonly method?: string;
  readonly body?: string;
  readonly headers?: Record<string, string>;
  readonly signal?: AbortSignal;
}

/** One request with a key of the scene, read to its end. */
export async function call(
  { url }: Pick<Gateway, 'url'>,
  { key = 'ada', path = workPath, method = 'POST', body = '{}', headers = {}, signal }: CallOptions = {},
): Promise<Answer> {
  const answer = await request(url + path, {
    method,
    headers: { apikey: secretOf(key), 'content-type': 'application/json', ...headers },
    ...(method === 'GET' || method === 'HEAD' ? {} : { body }),
    ...(signal === undefined ? {} : { signal }),
  });
  const refusal = answer.headers['x-gatehouse-refusal'];
  return {
    status: answer.statusCode,
    refusal: typeof refusal === 'string' ? refusal : undefined,
    headers: answer.headers,
    text: await answer.body.text(),
  };
}

/** What the key has used of its first quota, as the key itself is told; NaN where the store is late to tell. */
export async function usedBy(gateway: Gateway, key = 'ada'): Promise<number> {
  const { text } = await call(gateway, { key, path: usagePath, method: 'GET' });
  const { quotas } = JSON.parse(text) as { quotas?: { used: number }[] };
  return quotas?.[0]?.used ?? Number.NaN;
}

/** Waits until the key has used exactly so much. */
export async function usedSettlesAt(gateway: Gateway, expected: number, key = 'ada'): Promise<void> {
  let last = Number.NaN;
  await until(async () => (last = await usedBy(gateway, key)) === expected, {
    what: `${expected} units used`,
  }).catch((cause: unknown) => {
    throw new Error(`${key} has used ${last}, not ${expected}`, { cause });
  });
}

const quotaConfig: Yaml = {
  usage: { path: usagePath },
  keys: keysOf('plan', 'ada'),
  plans: {},
  routes: [{ path: workPath, methods: ['GET', 'POST'], body: { any: {} } }],
};
