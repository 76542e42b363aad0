import assert from 'node:assert/strict';
import type { ServerResponse } from 'node:http';
import { after, test } from 'node:test';
import { until, type Scene } from '../helpers/poll.ts';
import { exchange, requestBytes } from '../helpers/raw-socket.ts';
import { startRecordingUpstream, type RecordingUpstream } from '../helpers/recording-upstream.ts';
import { reload } from '../helpers/reload.ts';
import { demoKey, startGateway, type Gateway, type Yaml } from '../helpers/start-gateway.ts';

const health = { path: '/healthz', every: '20ms', timeout: '60s' };

/** A target whose checks a test answers, or leaves unanswered. */
interface CheckedTarget {
  readonly raw: RecordingUpstream;
  /** Requests that were no checks. */
  readonly requests: number;
  readonly checks: number;
  onCheck: (res: ServerResponse) => unknown;
}

async function startTarget(t: Scene): Promise<CheckedTarget> {
  const raw = await startRecordingUpstream(t, ({ target }, res) => {
    if (target === '/healthz') checked.onCheck(res);
    else res.end('ok');
  });
  const count = (wanted: boolean): number =>
    raw.requests.filter(({ target }) => (target === '/healthz') === wanted).length;
  const checked = {
    raw,
    get requests() {
      return count(false);
    },
    get checks() {
      return count(true);
    },
    onCheck: well,
  };
  return checked;
}

const well = (res: ServerResponse): unknown => res.end('fine');
const ill = (res: ServerResponse): unknown => res.writeHead(503).end('draining');
const silent = (): unknown => undefined;

async function startScene(t: Scene, over: Yaml = {}) {
  const [one, two] = [await startTarget(t), await startTarget(t)];
  const gateway = await startGateway(t, {
    upstreams: { recognition: { targets: [one.raw.url, two.raw.url], health } },
    routes: [{ path: '/v1/*', methods: ['GET'], body: 'none' }],
    ...over,
  });
  const ask = async (): Promise<number> => {
    const request = requestBytes('GET /v1/x', [['apiKey', demoKey]]);
    return (await exchange(t, gateway.port, request)).status;
  };
  /** How many of some requests come to each of the targets. */
  const share = async (count: number): Promise<[number, number]> => {
    const before = [one.requests, two.requests] as const;
    for (let i = 0; i < count; i += 1) assert.equal(await ask(), 200);
    return [one.requests - before[0], two.requests - before[1]];
  };
  return { gateway, one, two, share };
}

function told(gateway: Gateway, sentence: string): readonly unknown[] {
  return gateway
    .logs()
    .filter(({ msg }) => msg === sentence)
    .map(({ level, upstream, target, cause }) => [level, upstream, target, cause]);
}

const becameIll = (gateway: Gateway) => told(gateway, 'a target is not healthy');
const becameWell = (gateway: Gateway) => told(gateway, 'a target is healthy again');

async function shownOf(gateway: Gateway): Promise<Readonly<Record<string, number>>> {
  const series = /^gatehouse_target_unhealthy\{upstream="recognition",target="(.*)"\} (\d)$/gm;
  const found = [...(await gateway.metrics()).matchAll(series)];
  return Object.fromEntries(found.map(([, target, size]) => [target, Number(size)]));
}

/** Serves all but one of the tests in turn. */
const { gateway, one, two, share } = await startScene({ after });

test('a target that says 503 gets no requests until it is healthy again, and log, metrics and readiness tell of it', async () => {
  assert.deepEqual(await share(4), [2, 2]);
  two.onCheck = ill;
  await until(() => becameIll(gateway).length === 1);
  assert.deepEqual(await share(4), [4, 0]);
  const message = 'it answered 503 to a health check';
  const cause = { type: 'Unhealthy', message, code: 'UNHEALTHY' };
  assert.deepEqual(becameIll(gateway), [['warn', 'recognition', two.raw.url, cause]]);
  assert.deepEqual(await shownOf(gateway), { [one.raw.url]: 0, [two.raw.url]: 1 });
  const reason = `target ${two.raw.url} of upstream recognition is not healthy: ${message}`;
  // What was looked at within the last second may still be told.
  await until(async () => (await gateway.readiness()).reasons.includes(reason));
  assert.deepEqual(await gateway.readiness(), { status: 200, reasons: [reason] });

  one.onCheck = ill;
  await until(() => becameIll(gateway).length === 2);
  assert.deepEqual(await share(4), [2, 2], 'where none is healthy all are used');
  assert.equal((await gateway.readiness()).status, 200);

  one.onCheck = two.onCheck = well;
  await until(() => becameWell(gateway).length === 2);
  assert.deepEqual(await share(4), [2, 2]);
  assert.deepEqual(await shownOf(gateway), { [one.raw.url]: 0, [two.raw.url]: 0 });
});

test('a reload keeps what is known of an upstream that it leaves as it is, and begins anew with one that it changes', async () => {
  const ills = becameIll(gateway).length;
  two.onCheck = ill;
  await until(() => becameIll(gateway).length === ills + 1);
  two.onCheck = silent;
  const before = two.checks;
  await until(() => two.checks > before);
  await reload(gateway, { keys: [{ id: 'new', plan: 'free', secret: demoKey }] });
  assert.deepEqual(await share(4), [4, 0]);
  assert.equal(two.checks, before + 1, 'the check that has no answer goes on');

  await reload(gateway, { upstreams: { recognition: { connections: 7 } } });
  await until(
    () => two.raw.requests.filter(({ target, aborted }) => target === '/healthz' && aborted).length === 1,
  );
  assert.deepEqual(await share(4), [2, 2]);

  await reload(gateway, { upstreams: { recognition: { health: undefined } } });
  assert.deepEqual(await shownOf(gateway), {});
  assert.equal(becameIll(gateway).length, ills + 1);
});

test('each worker checks for itself', async (t) => {
  const crew = await startScene(t, { workers: 2 });
  crew.two.onCheck = ill;
  await until(() => becameIll(crew.gateway).length === 2);
  await until(async () => (await shownOf(crew.gateway))[crew.two.raw.url] === 2);
  assert.equal((await shownOf(crew.gateway))[crew.one.raw.url], 0);
});

test('a check that has no answer keeps no gateway from ending', async () => {
  one.onCheck = two.onCheck = silent;
  const before = one.checks;
  await reload(gateway, { upstreams: { recognition: { health } } });
  await until(() => one.checks > before);
  assert.deepEqual(await gateway.stop(), { code: 0, signal: null });
});
