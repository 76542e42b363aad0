import assert from 'node:assert/strict';
import { after, test, type TestContext } from 'node:test';
import { boundary, formBody } from '../helpers/form-body.ts';
import { openSockets } from '../helpers/open-files.ts';
import { until } from '../helpers/poll.ts';
import { exchange, openRaw, requestBytes, type RawSocket } from '../helpers/raw-socket.ts';
import { startRecordingUpstream } from '../helpers/recording-upstream.ts';
import { reload } from '../helpers/reload.ts';
import { demoKey, startGateway } from '../helpers/start-gateway.ts';
import { encodeWav, tone } from '../helpers/wav.ts';

const allFiles = 200;
// A connection that is kept would give its file back in the middle of a test.
const upstream = await startRecordingUpstream({ after }, (_, res) =>
  res.setHeader('connection', 'close').end(),
);
/** Its connections may need more files than it may have. */
const gateway = await startGateway(
  { after },
  {
    limits: { connections: 10_000 },
    upstreams: { recognition: { connections: 10 } },
    routes: [
      { path: '/v1/any', methods: ['POST'], body: { any: {} } },
      {
        path: '/v1/form',
        methods: ['POST'],
        body: { upload: { files: { file: { types: ['audio/wav'] } } } },
      },
      { path: '/v1/file', methods: ['POST'], body: { file: { types: ['audio/wav'] } } },
    ],
  },
  { upstream: upstream.url, filesMax: allFiles },
);
const socketsAtRest = openSockets(gateway.pid);

const wav = encodeWav(tone(440));
for (const [kind, type, body] of [
  ['file', 'audio/wav', wav],
  [
    'form',
    `multipart/form-data; boundary=${boundary}`,
    formBody([{ name: 'file', fileName: 'a.wav', type: 'audio/wav', data: wav }]),
  ],
] as const) {
  test(`the first upload of a process that has no file left to load its readers from is not to blame: ${kind}`, async (t) => {
    const head = [
      ['apiKey', demoKey],
      ['Content-Type', type],
    ] as const;
    const request = requestBytes(`POST /v1/${kind}`, head, body);
    await until(() => openSockets(gateway.pid) === socketsAtRest);
    const caller = await openRaw(t, gateway.port);
    const hogs = await takeAllFiles(t);
    const refused = await say(caller, request);
    assert.equal(refused.status, 503);
    assert.equal(refused.headers['x-gatehouse-refusal'], 'spool_full');
    assert.equal(refused.headers['retry-after'], '1');
    await goesOn(t, hogs, request);
  });
}

for (const [lane, bytes] of Object.entries({ buffered: 10, streamed: 100_000 })) {
  test(`a gateway that has no file left for a connection says so, and blames no upstream: ${lane}`, async (t) => {
    const request = requestBytes('POST /v1/any', [['apiKey', demoKey]], 'x'.repeat(bytes));
    // These are open before there is no room for them.
    const caller = await openRaw(t, gateway.port);
    const operator = await openRaw(t, Number(new URL(gateway.adminUrl).port));
    const isReady = async (): Promise<boolean> =>
      (await say(operator, requestBytes('GET /readyz'))).status === 200;
    assert.equal(await isReady(), true);
    const hogs = await takeAllFiles(t);

    const refused = await say(caller, request);
    assert.equal(refused.status, 503);
    assert.equal(refused.headers['x-gatehouse-refusal'], 'overloaded');
    assert.equal(refused.headers['retry-after'], '1');
    const line = await gateway.lineOf(refused);
    assert.equal(line['level'], 'error');
    assert.equal((line['cause'] as { code?: unknown }).code, 'EMFILE');
    // Longer than a verdict is kept.
    const since = performance.now();
    await until(async () => {
      assert.equal(await isReady(), true);
      return performance.now() - since > 1200;
    });

    await goesOn(t, hogs, request);
    assert.deepEqual(
      gateway.logs().filter(({ msg }) => msg === 'a target cannot be used'),
      [],
    );
    assert.doesNotMatch(await gateway.metrics(), /^gatehouse_upstream_errors_total.* [1-9]/m);
  });
}

test('a gateway that starts with fewer files than its connections may need says so once', () => {
  const doubts = gateway.logs().filter(({ filesMax }) => filesMax !== undefined);
  assert.deepEqual(
    doubts.map(({ level, filesMax, needed }) => [level, filesMax, needed]),
    [['warn', allFiles, 10_210]],
  );
});

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
async function takeAllFiles(t: TestContext): Promise<RawSocket[]> {
  const hogs = await Promise.all(Array.from({ length: allFiles }, () => openRaw(t, gateway.port)));
  await until(() => hogs.some(({ closed }) => closed));
  return hogs;
}

/** Gives the files back, and waits until the request is served. */
async function goesOn(t: TestContext, hogs: readonly RawSocket[], request: Buffer): Promise<void> {
  for (const { socket } of hogs) socket.destroy();
  await until(async () => {
    const answer = await exchange(t, gateway.port, request).catch(() => undefined); // it may be closed as those before
    return answer?.status === 200;
  });
}

test('a reload by which connections may need more files than that says so, too', async () => {
  await reload(gateway, { upstreams: { recognition: { connections: 30 } } });
  const told = gateway.logs().flatMap(({ needed }) => needed ?? []);
  assert.deepEqual(told, [10_210, 10_230]);
});
