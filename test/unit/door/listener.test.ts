import assert from 'node:assert/strict';
import { once } from 'node:events';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { connect, type Socket } from 'node:net';
import { text } from 'node:stream/consumers';
import { test, type TestContext } from 'node:test';
import { setImmediate as turnOver } from 'node:timers/promises';
import { Connections } from '../../../src/door/connections.ts';
import { listen, type Listener } from '../../../src/door/listener.ts';
import { createWording } from '../../../src/refusals.ts';
import { Visit } from '../../../src/visit.ts';
import { peerOf } from '../../../src/wire/client-address.ts';
import { collectGarbage, memoryUsed } from '../../helpers/collect-garbage.ts';
import { countRequests } from '../../helpers/count-requests.ts';
import { holdUp } from '../../helpers/hold-up.ts';
import { keepJammed } from '../../helpers/keep-jammed.ts';
import { until } from '../../helpers/poll.ts';
import { exchange, openRaw, requestBytes, type RawSocket } from '../../helpers/raw-socket.ts';
import { refuses } from '../../helpers/refuses.ts';

const minute = 60_000;
const limits = {
  connections: 1000,
  inFlight: 1000,
  inFlightPerConnection: 10,
  headerBytes: 16_384,
  headerCount: 100,
  headerTimeoutMs: minute,
  requestTimeoutMs: minute,
  keepAliveMs: minute,
  stalledReaderMs: minute,
  bodyMemory: 1024,
};

type Answer = Parameters<typeof listen>[0]['handle'];
type Told = Parameters<typeof listen>[0]['onUnreadable'];

/** Listens, and has each request counted in and answered. */
async function listenWith(
  t: TestContext,
  own: {
    readonly connections?: number;
    readonly headerTimeoutMs?: number;
    readonly requestTimeoutMs?: number;
    readonly keepAliveMs?: number;
    readonly answer: Answer;
    readonly onUnreadable: Told;
  },
): Promise<{ readonly port: number; readonly listener: Listener }> {
  const all = { ...limits, ...own };
  const connections = new Connections(all);
  const listener = await listen({
    address: { host: '127.0.0.1', port: 0 },
    sharesPort: false,
    limits: all,
    connections,
    messageClasses: {},
    wording: createWording(new Map()),
    onUnreadable: own.onUnreadable,
    handle: (req, res) => {
      req.visit = new Visit('id', { peer: '127.0.0.1', client: '127.0.0.1', trusted: false });
      const leave = connections.enter(res, connections.of(res.req.socket));
      own.answer(req, res);
      leave();
    },
  });
  t.after(() => listener.close(0));
  return { port: listener.address.port, listener };
}

test('the rest of a body that nobody reads has the time of its request, and no more', async (t) => {
  const { port } = await listenWith(t, {
    requestTimeoutMs: 1000,
    answer: (_, res) => res.end('answered'),
    onUnreadable: ({ refusal }) => assert.fail(refusal), // it has been answered
  });
  const whole = await openRaw(t, port);
  whole.write(requestBytes('POST /', [], 'mine'));
  await whole.responses(1);
  const half = await openRaw(t, port);
  half.write(requestBytes('POST /', [], 'mine').subarray(0, -1));
  await half.responses(1);

  assert.match((await half.receivedUntilClose()).toString(), /^HTTP[^]*answered$/);
  assert.equal(whole.closed, false);
});

test('a connection on which nothing was asked is closed without a word, and nobody is told', async (t) => {
  const { port } = await listenWith(t, {
    headerTimeoutMs: 500,
    answer: (_, res) => res.end('answered'),
    onUnreadable: ({ refusal }) => assert.fail(refusal),
  });
  const silent = await openRaw(t, port);
  assert.equal((await silent.receivedUntilClose()).length, 0);
});

test('who finds no room is let in at none of the sockets of the port', async (t) => {
  const letIn = t.mock.method(Connections.prototype, 'opened').mock;
  const { port } = await listenWith(t, {
    connections: 0,
    headerTimeoutMs: 500, // or who is let in would stay
    answer: (_, res) => res.end('answered'),
    onUnreadable: ({ refusal }) => assert.fail(refusal),
  });
  const clients = Array.from({ length: 256 }, () => connect(port, '127.0.0.1').resume());
  await Promise.all(clients.map((client) => once(client, 'close')));
  assert.equal(letIn.callCount(), 0);
});

test('a path and headers of exactly the size are taken, and one byte more is refused', async (t) => {
  const { port } = await listenWith(t, {
    answer: (_, res) => res.end('answered'),
    onUnreadable: () => undefined,
  });
  const statusOf = async (bytes: number): Promise<number> => {
    const [path, rest] = [`/?${'q'.repeat(998)}`, bytes - 1000 - 'HostaCookie'.length];
    const head = `GET ${path} HTTP/1.1\r\nHost: a\r\nCookie: ${'x'.repeat(rest)}\r\n\r\n`;
    return (await exchange(t, port, head)).status;
  };
  assert.equal(await statusOf(limits.headerBytes), 200);
  assert.equal(await statusOf(limits.headerBytes + 1), 431);
});

test('who asked is known though the connection has been reset', async (t) => {
  let asker: Socket | undefined;
  const { port } = await listenWith(t, {
    answer: ({ socket }) => void (asker = socket),
    onUnreadable: ({ cause }) => assert.fail(String(cause)),
  });
  const client = await openRaw(t, port);
  client.write(requestBytes('GET /'));
  await until(() => asker !== undefined);
  client.socket.resetAndDestroy();
  await until(() => asker?.destroyed);
  assert.equal(asker && peerOf(asker), '127.0.0.1');
});

test('a head of too many lines is refused before it ends, and takes no memory', async (t) => {
  const told: string[] = [];
  const { port } = await listenWith(t, {
    answer: (_, res) => res.end('answered'),
    onUnreadable: ({ refusal }) => told.push(refusal),
  });
  const clients = await Promise.all(Array.from({ length: 50 }, () => openRaw(t, port)));
  const lines = Buffer.from(`GET / HTTP/1.1\r\nHost: a\r\n${'a:b\r\n'.repeat(3100)}`);
  const before = memoryUsed();
  for (const client of clients) client.write(lines);
  await until(() => told.length === clients.length);
  assert.deepEqual(new Set(told), new Set(['headers_too_large']));
  const eachBytes = (memoryUsed() - before) / clients.length;
  assert.ok(eachBytes < 30_000, `${eachBytes} bytes each`);
});

test('an idle connection does not keep a request that was answered before all of its body had come', async (t) => {
  const requests: WeakRef<IncomingMessage>[] = [];
  const { port } = await listenWith(t, {
    answer: (req, res) => {
      requests.push(new WeakRef(req));
      req.once('readable', () => res.end(req.read(2)));
    },
    onUnreadable: ({ cause }) => assert.fail(String(cause)),
  });
  const client = await openRaw(t, port);
  client.write(requestBytes('POST /', [], 'mine').subarray(0, -2));
  const [answer] = await client.responses(1);
  assert.equal(answer?.body.toString(), 'mi');
  client.write('ne');

  await until(() => {
    collectGarbage();
    return requests[0]?.deref() === undefined;
  });
  assert.equal(client.closed, false);
});

test('who asks once more on a kept connection while it closes, or behind an answer that had begun before, is answered, and who asks nothing more is let go', async (t) => {
  const begun: ServerResponse[] = [];
  const { port, listener } = await listenWith(t, {
    answer: ({ url }, res) => {
      if (url !== '/begun') return res.end('answered');
      begun.push(res.writeHead(200, { 'Content-Length': 8 }));
      return res.write('answ');
    },
    onUnreadable: ({ cause }) => assert.fail(String(cause)),
  });
  const [asking, silent] = [await openRaw(t, port), await openRaw(t, port)];
  for (const client of [asking, silent]) {
    client.write(requestBytes('GET /'));
    assert.equal((await client.responses(1))[0]?.headers['connection'], 'keep-alive');
  }
  const [askingLate, silentLate] = [await openRaw(t, port), await openRaw(t, port)];
  for (const client of [askingLate, silentLate]) {
    client.write(requestBytes('GET /begun'));
    await client.receivedUntil((received) => received.includes('answ'));
  }

  const looks = t.mock.method(Connections.prototype, 'endIdle').mock;
  /** Waits until the drain has looked for idle connections, in vain. */
  const looked = async (): Promise<void> => {
    const before = looks.callCount();
    await until(() => looks.callCount() > before);
  };
  let goOn = stopClock(t);
  const gone = listener.close(minute);
  await until(() => refuses(port));
  await looked();
  await askOnceMore(asking);
  goOn();
  await silent.receivedUntilClose();
  goOn = stopClock(t);
  for (const res of begun) res.end('ered');
  await askingLate.responses(1);
  await looked();
  await askOnceMore(askingLate);
  goOn();
  await silentLate.receivedUntilClose();
  await gone;
});

test('who asks on a kept connection while it closes is answered, though the process then stood still for longer than it is left open', async (t) => {
  const { port, listener } = await listenWith(t, {
    answer: (_, res) => res.end('answered'),
    onUnreadable: ({ cause }) => assert.fail(String(cause)),
  });
  const asking = await openRaw(t, port);
  asking.write(requestBytes('GET /'));
  await asking.responses(1);
  const looks = t.mock.method(Connections.prototype, 'endIdle').mock;
  const goOn = stopClock(t);
  const gone = listener.close(minute);
  await until(() => looks.callCount() > 0);
  await turnOver(); // the event loop looks at its timers next, and reads after that
  const answered = askOnceMore(asking);
  goOn();
  holdUp(300);
  await answered;
  await gone;
});

async function askOnceMore(client: RawSocket): Promise<void> {
  client.write(requestBytes('GET /'));
  const [, last] = await client.responses(2);
  assert.deepEqual([last?.text, last?.headers['connection']], ['answered', 'close']);
}

/** To the listener no time passes until it goes on, however slow the machine is. */
function stopClock(t: TestContext): () => void {
  const now = performance.now();
  const { mock } = t.mock.method(performance, 'now', () => now);
  return () => mock.restore();
}

test('who was taken last before the port closes is answered, though the process stood still for long just then', async (t) => {
  let stoodStill = false;
  const { port, listener } = await listenWith(t, {
    answer: (_, res) => {
      if (!stoodStill) holdUp(300);
      stoodStill = true;
      res.end('answered');
    },
    onUnreadable: ({ cause }) => assert.fail(String(cause)),
  });
  const clients = Array.from({ length: 200 }, () => connect(port, '127.0.0.1'));
  for (const client of clients) client.write(requestBytes('GET /', [['Connection', 'close']]));
  const gone = listener.close(minute);
  const answers = await Promise.all(clients.map((client) => text(client)));
  assert.equal(answers.filter((answer) => answer.endsWith('answered')).length, clients.length);
  await gone;
});

test('who asks is answered, though the process then stood still for longer than a connection is kept, or a head or the rest of a body may take', async (t) => {
  const { port, listener } = await listenWith(t, {
    answer: (_, res) => void setTimeout(() => res.end('answered'), 20),
    onUnreadable: ({ cause }) => assert.fail(String(cause)),
    headerTimeoutMs: 1400,
    requestTimeoutMs: 1400,
    keepAliveMs: 100,
  });
  const head = requestBytes('GET /');
  const [asking, silent, begun, sending] = [
    await openRaw(t, port),
    await openRaw(t, port),
    await openRaw(t, port),
    await openRaw(t, port),
  ];
  begun.write(head.subarray(0, 20));
  sending.write(requestBytes('POST /', [], 'mine').subarray(0, -1));
  await sending.responses(1);
  for (const client of [asking, silent]) {
    client.write(head);
    await client.responses(1);
  }
  await turnOver(); // the event loop looks at its timers next, and reads after that
  asking.write(head);
  begun.write(head.subarray(20));
  sending.write(Buffer.concat([Buffer.from('e'), head]));
  holdUp(1500); // Node keeps a connection for a second longer than it tells
  for (const [client, count] of [
    [asking, 2],
    [begun, 1],
    [sending, 2],
  ] as const) {
    const answers = await client.responses(count);
    assert.equal(answers[count - 1]?.text, 'answered');
  }
  await silent.receivedUntilClose();
  await listener.close(0);
});

test('who asks on a connection that a jam keeps from being read is answered when its time is over', async (t) => {
  const { port, listener } = await listenWith(t, {
    answer: (_, res) => res.end('answered'),
    onUnreadable: ({ cause }) => assert.fail(String(cause)),
    keepAliveMs: 100,
  });
  keepJammed(t);
  const [asking, silent] = [await openRaw(t, port), await openRaw(t, port)];
  for (const client of [asking, silent]) {
    client.write(requestBytes('GET /'));
    await client.responses(1);
  }
  asking.write(requestBytes('GET /'));
  const answers = await asking.responses(2);
  assert.equal(answers[1]?.text, 'answered');
  await silent.receivedUntilClose();
  await listener.close(0);
});

test('who has begun a head on a connection that a jam keeps from being read is answered when its time is over', async (t) => {
  const { port, listener } = await listenWith(t, {
    answer: (_, res) => res.end('answered'),
    onUnreadable: ({ cause }) => assert.fail(String(cause)),
    headerTimeoutMs: 100,
  });
  keepJammed(t);
  const asking = await openRaw(t, port);
  const head = requestBytes('GET /');
  asking.write(Buffer.concat([head, head.subarray(0, 20)]));
  await asking.responses(1);
  asking.write(head.subarray(20));
  const answers = await asking.responses(2);
  assert.equal(answers[1]?.text, 'answered');
  await listener.close(0);
});

test('a client that is taken after the first cut of a drain is cut as well', async (t) => {
  const taken = t.mock.method(Connections.prototype, 'opened').mock;
  const { port, listener } = await listenWith(t, {
    answer: () => undefined,
    onUnreadable: ({ cause }) => assert.fail(String(cause)),
  });
  // Many more than the port takes in one turn, which takes longer than the drain may.
  const clients = Array.from({ length: 200 }, () => connect(port, '127.0.0.1'));
  for (const client of clients) {
    t.after(() => client.destroy());
    client.on('error', () => client.destroy()).resume();
    client.write(requestBytes('GET /'));
  }
  await listener.close(1);
  assert.ok(taken.callCount() > 64, `only ${taken.callCount()} were taken`);
});

test('a process whose turns are slow takes clients that still come for a part of the time only that it has to finish', async (t) => {
  const timeoutMs = 2000;
  let draining = false;
  let taken = 0;
  const { port, listener } = await listenWith(t, {
    answer: (_, res) => {
      if (draining) {
        taken += 1;
        holdUp(50);
        come();
      }
      res.end('answered');
    },
    onUnreadable: ({ cause }) => assert.fail(String(cause)),
  });
  /** With each request that is answered the next one comes, so that every turn takes somebody. */
  function come(): void {
    const client = connect(port, '127.0.0.1');
    t.after(() => client.destroy());
    client.on('error', () => client.destroy()).resume();
    client.write(requestBytes('GET /', [['Connection', 'close']]));
  }
  for (let count = 0; count < 2; count += 1) come();
  draining = true;
  await listener.close(timeoutMs);
  assert.ok(taken >= 2, 'who had come is taken');
  assert.ok(taken * 50 < timeoutMs / 2, `it took ${taken}`);
});

const nonsense = 'nonsense\r\n\r\n';
const unreadable: readonly [what: string, begin: string, status: number][] = [
  ['headers that are too large', `POST / HTTP/1.1\r\nHost: a\r\nCookie: ${'x'.repeat(20_000)}\r\n\r\n`, 431],
  ['what is no request', 'GIMME / HTTP/1.1\r\nHost: a\r\n\r\n', 400],
  ['an upgrade', 'GET / HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n', 200],
  ['nonsense behind a request that is answered', `GET / HTTP/1.1\r\nHost: a\r\n\r\n${nonsense}`, 200],
  ['nonsense behind a request under way', `GET /later HTTP/1.1\r\nHost: a\r\n\r\n${nonsense}`, 200],
];

for (const [what, begin, status] of unreadable) {
  test(`whoever sends on after ${what} gets to read the answer, when all is sent`, async (t) => {
    let closed = 0;
    const { port, listener } = await listenWith(t, {
      answer: (req, res) => {
        res.on('close', () => (closed += 1));
        if (req.url === '/later') setImmediate(() => res.end('answered'));
        else res.end('answered');
      },
      onUnreadable: () => undefined,
    });
    const client = connect(port, '127.0.0.1');
    t.after(() => client.destroy());
    client.write(begin);
    const body = Buffer.alloc(1024 * 1024);
    for (let sent = 0; sent < 8; sent += 1) {
      await new Promise((resolve, reject) => {
        client.write(body, (error) => (error ? reject(error) : resolve(undefined)));
      });
    }
    // Not before: what a reset has thrown away cannot be read any more.
    assert.ok((await text(client)).startsWith(`HTTP/1.1 ${status} `));
    await listener.close(0);
    assert.equal(closed, status === 200 ? 1 : 0);
  });
}

test('a client that leaves behind frames, and an upgrade for which it was too early, is heard of', async (t) => {
  const begun: ServerResponse[] = [];
  const told: string[] = [];
  const { port } = await listenWith(t, {
    answer: (_, res) => void begun.push(res),
    onUnreadable: ({ refusal }) => told.push(refusal),
  });
  const client = await openRaw(t, port);
  const upgrade = requestBytes('GET /', [
    ['Connection', 'Upgrade'],
    ['Upgrade', 'websocket'],
  ]);
  client.write(Buffer.concat([requestBytes('GET /'), upgrade, Buffer.from('frames')]));
  await until(() => told.length > 0);
  client.socket.end();
  await until(() => begun[0]?.destroyed);
  assert.deepEqual([begun.length, told], [1, ['request_malformed']]);
});

test('the end of an answer that its reader has not taken yet is no idle connection to a drain', async (t) => {
  const big = 32 * 1024 * 1024;
  const { port, listener } = await listenWith(t, {
    answer: ({ url }, res) => void res.end(Buffer.alloc(url === '/big' ? big : 2, 'x')),
    onUnreadable: ({ refusal }) => assert.fail(refusal),
  });
  const slow = await openRaw(t, port);
  const idle = await openRaw(t, port);
  slow.socket.pause();
  slow.write(requestBytes('GET /big', []));
  idle.write(requestBytes('GET /small', []));
  await idle.responses(1);
  const closed = listener.close(minute);
  await idle.receivedUntilClose();
  slow.socket.resume();
  const [answer] = await slow.responses(1);
  assert.deepEqual([answer?.complete, answer?.text.length], [true, big]);
  await closed;
});

test('nothing is made of the requests that came with the one that ends their connection', async (t) => {
  const made = countRequests(t);
  const { port } = await listenWith(t, {
    answer: ({ socket }) => socket.destroy(),
    onUnreadable: ({ refusal }) => assert.fail(refusal),
  });
  const raw = await openRaw(t, port);
  raw.write('GET / HTTP/1.1\r\nHost: a\r\n\r\n'.repeat(1000));
  await until(() => raw.closed);
  assert.equal(made(), 1);
});
