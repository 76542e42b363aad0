import assert from 'node:assert/strict';
import { createServer as createSecureServer } from 'node:https';
import type { Socket } from 'node:net';
import { test, type TestContext } from 'node:test';
import type { HealthRule } from '../../../src/config/config.ts';
import { createTargets } from '../../../src/upstream/targets.ts';
import { makeCertificate } from '../../helpers/certificates.ts';
import { listen } from '../../helpers/listen.ts';
import { until } from '../../helpers/poll.ts';
import { startRawUpstream, type RawScript } from '../../helpers/raw-upstream.ts';
import { startRecordingUpstream } from '../../helpers/recording-upstream.ts';
import { failResolver } from '../../helpers/silence-resolver.ts';
import { answerNothing, startUpstreamScene } from '../../helpers/upstream-scene.ts';

const often: HealthRule = { path: '/healthz?full', everyMs: 10, timeoutMs: 60_000, host: undefined };

function says(status: string, more = 'Content-Length: 0\r\n\r\n'): RawScript {
  return (socket) => socket.write(`HTTP/1.1 ${status}\r\n${more}`);
}

const well = says('200 OK');
const ill = says('503 Service Unavailable');

/** A target that answers checks and requests as it is told. */
async function startTarget(t: TestContext, onCheck: RawScript = well, onRequest: RawScript = answerNothing) {
  const raw = await startRawUpstream(t, (socket, bytes, index) => {
    const isCheck = bytes.toString('latin1').startsWith('GET /healthz');
    target[isCheck ? 'checks' : 'requests'] += 1;
    target[isCheck ? 'onCheck' : 'onRequest'](socket, bytes, index);
  });
  const target = { ...raw, raw, checks: 0, requests: 0, onCheck, onRequest };
  return target;
}

type CheckedTarget = Awaited<ReturnType<typeof startTarget>>;

async function startScene(
  t: TestContext,
  [first, ...others]: readonly CheckedTarget[],
  { connections = 10, ...rule }: Partial<HealthRule> & { connections?: number } = {},
) {
  const urls = others.map(({ url }) => url);
  const health = { ...often, ...rule };
  return await startUpstreamScene(t, 100, { target: first!.url, others: urls, connections, health });
}

/** Waits until so many further checks have been answered. */
async function moreChecks(target: CheckedTarget, count = 2): Promise<void> {
  const before = target.checks;
  await until(() => target.checks > before + count);
}

function requestsOf(...targets: readonly CheckedTarget[]): number[] {
  return targets.map(({ requests }) => requests);
}

test('a target that says it is not healthy gets no requests until it says that it is, and each is told once', async (t) => {
  const [one, two] = [await startTarget(t), await startTarget(t)];
  const { statusOf, started, upstream } = await startScene(t, [one, two]);
  const asked = async (count: number): Promise<number[]> => {
    const before = requestsOf(one, two);
    for (let i = 0; i < count; i += 1) assert.equal(await statusOf(), 204);
    return requestsOf(one, two).map((now, at) => now - before[at]!);
  };
  assert.deepEqual(await asked(4), [2, 2]);
  two.onCheck = ill;
  await until(() => started.unhealthy.length === 1);
  assert.deepEqual(await asked(4), [4, 0]);
  await moreChecks(two);
  assert.deepEqual(started.unhealthy, [`${two.url}: it answered 503 to a health check`]);
  assert.deepEqual(
    upstream.health().map(({ target, fault }) => [target, fault?.message]),
    [
      [one.url, undefined],
      [two.url, 'it answered 503 to a health check'],
    ],
  );
  two.onCheck = well;
  await until(() => started.healthyAgain.length === 1);
  assert.deepEqual(await asked(4), [2, 2]);
  assert.deepEqual([started.healthyAgain, started.setAside, started.errors], [[two.url], [], []]);
});

test('targets are used before they were first checked, and what is in flight at one that falls ill is answered', async (t) => {
  const [one, two] = [await startTarget(t, silent), await startTarget(t, silent)];
  const held: Socket[] = [];
  one.onRequest = two.onRequest = (socket) => void held.push(socket);
  const { ask, started } = await startScene(t, [one, two], { timeoutMs: 50 });
  const clients = [await ask(), await ask()];
  await until(() => held.length === 2);
  assert.deepEqual(requestsOf(one, two), [1, 1]);
  two.onCheck = ill;
  await until(() => started.unhealthy.length === 2);
  for (const socket of held) answerNothing(socket, nothing, 0);
  for (const client of clients) assert.equal((await client.responses(1))[0]?.status, 204);
});

test('a target is not healthy when two checks in a row have no answer, and one such check says nothing', async (t) => {
  const [one, two] = [await startTarget(t), await startTarget(t)];
  const { started } = await startScene(t, [one, two]);
  const every = (turn: number, fate: RawScript): RawScript => {
    const from = two.checks;
    return (...asked) => ((two.checks - from) % turn === 0 ? fate : well)(...asked);
  };
  two.onCheck = every(2, breaks);
  await moreChecks(two, 6);
  assert.deepEqual(started.unhealthy, []);
  two.onCheck = every(1, breaks);
  await until(() => started.unhealthy.length === 1);
  assert.match(started.unhealthy[0]!, /ECONNRESET/);
});

/** What is no answer, or not in time. */
const noAnswers: Readonly<Record<string, { script: RawScript; says: string }>> = {
  'says nothing': { script: () => undefined, says: 'no answer within 100 ms' },
  'begins and goes no further': {
    script: says('200 OK', 'Content-Length: 3\r\n\r\nab'),
    says: 'no answer within 100 ms',
  },
  'says a little, and a little more, without end': {
    script: (socket) => {
      socket.write('HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n');
      const drip = setInterval(() => socket.write('1\r\na\r\n'), 5);
      socket.on('close', () => clearInterval(drip));
    },
    says: 'no answer within 100 ms',
  },
  'leaves without a word': { script: (socket) => socket.end(), says: 'the upstream closed the connection' },
  'speaks something else': {
    script: (socket) => socket.write('SSH-2.0-OpenSSH_9.9\r\n'),
    says: 'it does not speak HTTP/1.1',
  },
  'has headers without end': {
    script: says('200 OK', `X: ${'x'.repeat(40_000)}`),
    says: 'its headers are too large',
  },
  'has two lengths': {
    script: says('200 OK', 'Content-Length: 0\r\nContent-Length: 1\r\n\r\n'),
    says: 'it has two Content-Length headers',
  },
  'switches protocols': {
    script: says('101 Switching Protocols'),
    says: 'it switched protocols and was not asked to',
  },
  'goes on with interim answers': {
    script: (socket) => socket.write('HTTP/1.1 103 Early Hints\r\nX: x\r\n\r\n'.repeat(3000)),
    says: 'it has too many interim answers',
  },
};

for (const [what, { script, says: message }] of Object.entries(noAnswers)) {
  test(`a target that ${what} when it is asked is not healthy`, async (t) => {
    const [one, two] = [await startTarget(t), await startTarget(t, script)];
    const { started } = await startScene(t, [one, two], { timeoutMs: 100 });
    await until(() => started.unhealthy.length === 1);
    assert.deepEqual(started.unhealthy, [`${two.url}: ${message}`]);
  });
}

for (const status of ['204 No Content', '299 Odd']) {
  test(`a target that answers ${status} is healthy`, async (t) => {
    const one = await startTarget(t, ill);
    const { started } = await startScene(t, [one]);
    await until(() => started.unhealthy.length === 1);
    one.onCheck = says(status);
    await until(() => started.healthyAgain.length === 1);
  });
}

for (const status of ['300 Choices', '302 Found', '401 Unauthorized', '404 Not Found', '500 Oh']) {
  test(`a target that answers ${status} is not healthy`, async (t) => {
    const one = await startTarget(t, says(status));
    const { started } = await startScene(t, [one]);
    await until(() => started.unhealthy.length === 1);
    assert.deepEqual(started.unhealthy, [`${one.url}: it answered ${status.slice(0, 3)} to a health check`]);
  });
}

test('a target that answers without end is as healthy as it says, and is not read on', async (t) => {
  const one = await startTarget(t, ill);
  const { started } = await startScene(t, [one]);
  await until(() => started.unhealthy.length === 1);
  const piece = Buffer.alloc(64 * 1024, 'x');
  let isRead = false;
  one.onCheck = (socket) => {
    isRead = true;
    socket.write('HTTP/1.1 200 OK\r\n\r\n');
    const more = (): void => {
      while (!socket.destroyed && socket.write(piece));
    };
    socket.on('drain', more).on('close', () => (isRead = false));
    more();
  };
  await until(() => started.healthyAgain.length === 1);
  one.onCheck = well;
  await until(() => !isRead);
});

test('an answer that ends with its connection is whole', async (t) => {
  const one = await startTarget(t, ill);
  const { started } = await startScene(t, [one]);
  await until(() => started.unhealthy.length === 1);
  one.onCheck = (socket) => socket.end('HTTP/1.0 200 OK\r\n\r\nfine');
  await until(() => started.healthyAgain.length === 1);
});

test('a target that is gone is not healthy, and is once it is back', async (t) => {
  const two = await startRecordingUpstream(t);
  const others = [two.url];
  const { started } = await startUpstreamScene(t, 100, {
    target: (await startTarget(t)).url,
    others,
    health: often,
  });
  await until(() => two.requests.length > 1);
  await two.close();
  await until(() => started.unhealthy.length === 1);
  assert.match(started.unhealthy[0]!, /ECONNREFUSED/);
  await two.reopen();
  await until(() => started.healthyAgain.length === 1);
});

test('a check asks for the path as a request would, without a key, and by another name if it has one', async (t) => {
  for (const host of [undefined, 'api.example.org']) {
    const one = await startTarget(t);
    await startScene(t, [one], { host });
    await until(() => one.checks > 1);
    const head = [
      'GET /healthz?full HTTP/1.1',
      `host: ${host ?? new URL(one.url).host}`,
      'connection: close',
    ];
    assert.equal(String(one.received[0]), [...head, 'user-agent: gatehouse', '', ''].join('\r\n'));
  }
});

test('over TLS the certificate of a target is verified by its own name', async (t) => {
  const certificate = makeCertificate(t, ['IP:127.0.0.1']);
  const other = makeCertificate(t, ['IP:127.0.0.1']);
  let checks = 0;
  const secure = createSecureServer(certificate, (_req, res) => {
    checks += 1;
    res.end('fine');
  });
  const target = `https://127.0.0.1:${await listen(t, secure)}`;
  const trusting = await startUpstreamScene(t, 100, { target, ca: certificate.cert, health: often });
  await until(() => checks > 2);
  assert.deepEqual(trusting.started.unhealthy, []);
  const wary = await startUpstreamScene(t, 100, { target, ca: other.cert, health: often });
  await until(() => wary.started.unhealthy.length === 1);
  assert.match(wary.started.unhealthy[0]!, /certificate|self-signed/);
});

test('a check for which nothing is left on this side says nothing', async (t) => {
  const asked = failResolver(t, 'EMFILE');
  const targets = createTargets(
    {
      name: 'one',
      targets: ['http://short-check.test'],
      timeouts: { connectMs: 5000, responseMs: 5000, idleMs: 5000 },
      health: often,
      connections: 1,
      preserveHost: false,
      ca: undefined,
    },
    { setAside: assert.fail, usedAgain: assert.fail, unhealthy: assert.fail, healthyAgain: assert.fail },
  );
  t.after(() => targets.close());
  await until(() => asked.length > 4);
});

test('an upstream that is closed checks no more, whatever its check waits for', async (t) => {
  const answering = await startTarget(t);
  const slow = await startTarget(t, silent);
  const busy = await startTarget(t, well, silent);
  const connecting = await startTarget(t);
  const scenes = await Promise.all(
    [answering, slow, busy].map((one) => startScene(t, [one], { connections: 1 })),
  );
  const [, , lined] = scenes;
  await until(() => answering.checks > 1 && slow.checks === 1 && busy.checks > 1);
  await lined!.ask();
  await until(() => busy.requests === 1);
  const before = busy.checks;
  for (const { upstream } of [...scenes, await startScene(t, [connecting])]) upstream.close();
  await until(() => slow.sockets.size === 0);
  const answered = answering.checks;
  for (const socket of busy.sockets) answerNothing(socket, nothing, 0);
  // Time enough for many: another upstream has been checked.
  const yet = await startTarget(t);
  await startScene(t, [yet]);
  await until(() => yet.checks > 5);
  const more = [answering.checks - answered, slow.checks - 1, busy.checks - before, connecting.checks];
  assert.deepEqual(more, [0, 0, 0, 0]);
});

test('where no target is healthy all are used in turn, and where none that is can be reached, the others', async (t) => {
  const targets = [await startTarget(t, ill), await startTarget(t, ill), await startTarget(t, ill)];
  const [one, two, three] = targets as [CheckedTarget, CheckedTarget, CheckedTarget];
  const { statusOf, started } = await startScene(t, targets);
  await until(() => started.unhealthy.length === 3);
  for (let i = 0; i < 6; i += 1) assert.equal(await statusOf(), 204);
  assert.deepEqual(requestsOf(one, two, three), [2, 2, 2]);
  three.onCheck = well;
  await until(() => started.healthyAgain.length === 1);
  for (let i = 0; i < 2; i += 1) assert.equal(await statusOf(), 204);
  assert.deepEqual(requestsOf(one, two, three), [2, 2, 4]);
  await three.raw.close();
  for (let i = 0; i < 4; i += 1) assert.equal(await statusOf(), 204);
  assert.deepEqual([requestsOf(one, two, three), started.setAside], [[4, 4, 4], [three.url]]);
});

test('who waits in line at a target that falls ill goes to another', async (t) => {
  const { one, two, checks, held, ask, started } = await startWithLines(t);
  const clients = [await ask(), await ask()];
  await until(() => held.length === 2);
  clients.push(await ask(), await ask());
  await until(() => started.bodies.length === 4);
  ill(checks.get(two)!, nothing, 0);
  await until(() => started.unhealthy.length === 1);
  one.onRequest = answerNothing;
  for (const socket of held) answerNothing(socket, nothing, 0);
  for (const client of clients) assert.equal((await client.responses(1))[0]?.status, 204);
  assert.deepEqual(requestsOf(one, two), [3, 1]);
});

test('who waits in line at a target that falls ill stays there where no other can be used', async (t) => {
  const { one, two, checks, held, ask, started } = await startWithLines(t);
  await one.raw.close();
  const clients = [await ask(), await ask(), await ask()];
  await until(() => started.bodies.length === 3 && started.setAside.length === 1 && held.length === 1);
  ill(checks.get(two)!, nothing, 0);
  await until(() => started.unhealthy.length === 1);
  two.onRequest = answerNothing;
  for (const socket of held) answerNothing(socket, nothing, 0);
  for (const client of clients) assert.equal((await client.responses(1))[0]?.status, 204);
  assert.deepEqual([two.requests, started.refusals], [3, []]);
});

test('who waits in line at a target that answers no check goes to another', async (t) => {
  const held: Socket[] = [];
  const hold: RawScript = (socket) => void held.push(socket);
  const [one, two] = [await startTarget(t, well, hold), await startTarget(t, silent, hold)];
  const { ask, started } = await startScene(t, [one, two], { connections: 2, timeoutMs: 400 });
  // The second that gets no answer decides.
  await until(() => two.checks === 2);
  const clients = await Promise.all(Array.from({ length: 6 }, () => ask()));
  await until(() => started.unhealthy.length === 1);
  one.onRequest = two.onRequest = answerNothing;
  for (const socket of held) answerNothing(socket, nothing, 0);
  for (const client of clients) assert.equal((await client.responses(1))[0]?.status, 204);
});

test('who waits in line at a target that falls ill goes to one that could not be reached before, and can be again', async (t) => {
  const one = await startRecordingUpstream(t);
  const checks: Socket[] = [];
  const held: Socket[] = [];
  const two = await startTarget(
    t,
    (socket) => void checks.push(socket),
    (socket) => void held.push(socket),
  );
  const health = { ...often, everyMs: 60_000 };
  const scene = { target: one.url, others: [two.url], connections: 2, health };
  const { ask, statusOf, started } = await startUpstreamScene(t, 100, scene);
  await until(() => checks.length === 1 && one.requests.length === 1);
  await one.close();
  const clients = [await ask(), await ask()];
  await until(() => started.setAside.length === 1 && held.length === 1);
  clients.push(await ask());
  await until(() => started.bodies.length === 3);
  await one.reopen();
  const now = performance.now.bind(performance);
  t.mock.method(performance, 'now', () => now() + 2500);
  assert.equal(await statusOf(), 200);
  ill(checks[0]!, nothing, 0);
  await until(() => started.unhealthy.length === 1);
  answerNothing(held[0]!, nothing, 0);
  const statuses = clients.map(async (client) => (await client.responses(1))[0]?.status);
  assert.deepEqual(await Promise.all(statuses), [204, 200, 200]);
});

/** Two targets with two connections each, of which the first check has one until the test answers it. */
async function startWithLines(t: TestContext) {
  const [one, two] = [await startTarget(t), await startTarget(t)];
  const checks = new Map<CheckedTarget, Socket>();
  const held: Socket[] = [];
  for (const target of [one, two]) {
    target.onCheck = (socket) => checks.set(target, socket);
    target.onRequest = (socket) => held.push(socket);
  }
  const scene = await startScene(t, [one, two], { connections: 2, everyMs: 60_000 });
  await until(() => checks.size === 2);
  return { one, two, checks, held, ...scene };
}

test('a check is one of the connections of its target, and waits for one', async (t) => {
  const one = await startTarget(t);
  const whenAlone =
    (script: RawScript): RawScript =>
    (socket, ...asked) =>
      void until(() => one.sockets.size === 1, { within: 3000 }).then(
        () => script(socket, ...asked),
        () => socket.destroy(),
      );
  one.onCheck = whenAlone(well);
  one.onRequest = whenAlone((socket) =>
    socket.write('HTTP/1.1 204 No Content\r\nKeep-Alive: timeout=600\r\n\r\n'),
  );
  const { statusOf, started } = await startScene(t, [one], { connections: 1, timeoutMs: 5000 });
  for (let turn = 0; turn < 4; turn += 1) {
    await moreChecks(one);
    assert.deepEqual(await Promise.all([statusOf(), statusOf()]), [204, 204]);
  }
  assert.deepEqual([started.unhealthy, started.refusals], [[], []]);
});

test('a target that is busy for longer than a check may take is healthy', async (t) => {
  const held: Socket[] = [];
  const one = await startTarget(t, well, (socket) => void held.push(socket));
  const { ask, started } = await startScene(t, [one], { connections: 1, timeoutMs: 20 });
  const client = await ask();
  await until(() => held.length === 1);
  const before = one.checks;
  const other = await startTarget(t, silent);
  const ailing = await startScene(t, [other], { timeoutMs: 20 });
  await until(() => ailing.started.unhealthy.length === 1);
  assert.equal(one.checks, before);
  answerNothing(held[0]!, nothing, 0);
  assert.equal((await client.responses(1))[0]?.status, 204);
  await until(() => one.checks > before);
  assert.deepEqual(started.unhealthy, []);
});

test('checks come as often as asked for, or up to a tenth sooner, so that those of many gateways spread', async (t) => {
  const everyMs = 79_190;
  const waits: number[] = [];
  const { setTimeout: begin } = globalThis;
  t.mock.method(globalThis, 'setTimeout', (over: () => void, ms: number) => {
    if (ms > 0.8 * everyMs && ms < 1.2 * everyMs) waits.push(ms);
    return begin(over, ms);
  });
  let random = 0;
  t.mock.method(Math, 'random', () => random);
  for (random of [0, 0.5, 0.999]) {
    const before = waits.length;
    await startScene(t, [await startTarget(t)], { everyMs });
    await until(() => waits.length > before);
  }
  assert.deepEqual(
    waits.map((ms) => Math.round((100 * ms) / everyMs)),
    [100, 95, 90],
  );
});

const nothing = Buffer.alloc(0);
const silent: RawScript = () => undefined;
const breaks: RawScript = (socket) => void socket.resetAndDestroy();
