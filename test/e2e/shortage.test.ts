import assert from 'node:assert/strict';
import { test, type TestContext } from 'node:test';
import { until } from '../helpers/poll.ts';
import { exchange, openRaw, requestBytes, type RawSocket } from '../helpers/raw-socket.ts';
import { startRecordingUpstream } from '../helpers/recording-upstream.ts';
import { demoKey, startGateway, type Gateway } from '../helpers/start-gateway.ts';

const allFiles = 200;

for (const [lane, bytes] of Object.entries({ buffered: 10, streamed: 100_000 })) {
  test(`a gateway that has no file left for a connection says so, and blames no upstream: ${lane}`, async (t) => {
    const { gateway, request, caller, isReady } = await startScene(t, bytes);
    assert.equal(await isReady(), true);
    const hogs = await takeAllFiles(t, gateway);

    const refused = await say(caller, request);
    assert.equal(refused.status, 503);
    assert.equal(refused.headers['x-gatehouse-refusal'], 'overloaded');
    assert.equal(refused.headers['retry-after'], '1');
    const line = await until(() => gateway.logs().find(({ status }) => status === 503));
    assert.equal(line['level'], 'error');
    assert.equal((line['cause'] as { code?: unknown }).code, 'EMFILE');
    // Longer than a verdict is kept.
    const since = performance.now();
    await until(async () => {
      assert.equal(await isReady(), true);
      return performance.now() - since > 1200;
    });

    for (const { socket } of hogs) socket.destroy();
    await until(async () => {
      const answer = await exchange(t, gateway.port, request).catch(() => undefined); // it may be closed as those before
      return answer?.status === 200;
    });
    assert.deepEqual(
      gateway.logs().filter(({ msg }) => msg === 'a target cannot be used'),
      [],
    );
    assert.doesNotMatch(await gateway.metrics(), /^gatehouse_upstream_errors_total.* [1-9]/m);
  });
}

for (const [what, connections, lines] of [
  ['fewer files than its connections may need', 10_000, [['warn', 10_210]]],
  ['as many files as its connections may need', 100, []],
] as const) {
  test(`a gateway that starts with ${what} says ${lines.length === 0 ? 'nothing' : 'so once'}`, async (t) => {
    const upstreams = { recognition: { connections: 10 } };
    const gateway = await startGateway(t, { limits: { connections }, upstreams }, { filesMax: 400 });
    const doubts = gateway.logs().filter(({ filesMax }) => filesMax === 400);
    assert.deepEqual(
      doubts.map(({ level, needed }) => [level, needed]),
      lines,
    );
  });
}

async function startScene(t: TestContext, bytes: number) {
  const upstream = await startRecordingUpstream(t);
  const route = { path: '/v1/any', methods: ['POST'], body: { any: {} } };
  const gateway = await startGateway(t, { routes: [route] }, { upstream: upstream.url, filesMax: allFiles });
  // These are open before there is no room for them.
  const caller = await openRaw(t, gateway.port);
  const operator = await openRaw(t, Number(new URL(gateway.adminUrl).port));
  return {
    gateway,
    caller,
    request: requestBytes('POST /v1/any', [['apiKey', demoKey]], 'x'.repeat(bytes)),
    isReady: async () => (await say(operator, requestBytes('GET /readyz'))).status === 200,
  };
}

const answered = new WeakMap<RawSocket, number>();

/** The answer to one more request on a connection. */
async function say(raw: RawSocket, request: Buffer) {
  const before = answered.get(raw) ?? 0;
  answered.set(raw, before + 1);
  raw.write(request);
  const answer = (await raw.responses(before + 1))[before];
  assert.ok(answer !== undefined, 'the connection was closed without an answer');
  return answer;
}

/** Opens connections until the gateway has no room for one more, and closes it. */
async function takeAllFiles(t: TestContext, { port }: Gateway): Promise<RawSocket[]> {
  const hogs = await Promise.all(Array.from({ length: allFiles }, () => openRaw(t, port)));
  await until(() => hogs.some(({ closed }) => closed));
  return hogs;
}
