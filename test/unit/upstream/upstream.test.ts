import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { createServer } from 'node:http';
import { createServer as createHttpsServer } from 'node:https';
import { createServer as createTcpServer, Socket } from 'node:net';
import { test, type TestContext } from 'node:test';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { TLSSocket } from 'node:tls';
import type { Body, StreamedBody } from '../../../src/bodies/body.ts';
import { Refusal } from '../../../src/refusals.ts';
import { openBlackHole } from '../../helpers/black-hole.ts';
import { makeCertificate } from '../../helpers/certificates.ts';
import { collectGarbage, memoryUsed } from '../../helpers/collect-garbage.ts';
import { heapHolds } from '../../helpers/heap-holds.ts';
import { holdUp } from '../../helpers/hold-up.ts';
import { listen } from '../../helpers/listen.ts';
import { until } from '../../helpers/poll.ts';
import { startRawUpstream } from '../../helpers/raw-upstream.ts';
import { startRecordingUpstream } from '../../helpers/recording-upstream.ts';
import { failResolver, silenceResolver } from '../../helpers/silence-resolver.ts';
import { answerNothing, inMemory, startUpstreamScene } from '../../helpers/upstream-scene.ts';

for (const [lane, size] of Object.entries({ buffered: 10_000, streamed: 100_000 })) {
  test(`what waits for a connection is let go when its client leaves: ${lane}`, async (t) => {
    const { ask, started } = await startUpstreamScene(t, size);
    const patient = await ask();
    await until(() => started.silent.received.length === 1);
    const hasty = await Promise.all([ask(), ask(), ask()]);
    await until(() => started.bodies.length === 4);
    for (const { socket } of hasty) socket.destroy();
    await until(() => started.refusals.length === 3);
    assert.deepEqual(started.refusals, ['client_gone', 'client_gone', 'client_gone']);
    await until(() => {
      collectGarbage();
      return started.bodies.filter((body) => body.deref() !== undefined).length <= 1;
    });
    // Whoever comes next gets the connection.
    const next = await ask();
    await until(() => started.bodies.length === 5);
    const nothing = 'HTTP/1.1 204 No Content\r\n\r\n';
    started.silent.script = (socket) => socket.write(nothing);
    for (const socket of started.silent.sockets) socket.write(nothing);
    assert.equal((await patient.responses(1))[0]?.status, 204);
    assert.equal((await next.responses(1))[0]?.status, 204);
    assert.deepEqual(started.setAside, []);
  });
}

for (const [lane, size] of Object.entries({ buffered: 10_000, streamed: 100_000 })) {
  test(`a client that leaves takes no local port with it, as its connection is reset and not closed: ${lane}`, async (t) => {
    const { ask, started } = await startUpstreamScene(t, size);
    const client = await ask();
    await until(() => started.silent.received.length === 1);
    const [connection] = started.silent.sockets;
    const end = new Promise((resolve) => {
      connection?.once('end', () => resolve('an end'));
      connection?.once('error', ({ code }: NodeJS.ErrnoException) => resolve(code));
    });
    client.socket.destroy();
    assert.equal(await end, 'ECONNRESET');
  });
}

test('a client that leaves before it has read all of an answer that is here leaves the connection to the next', async (t) => {
  const { ask, statusOf, started } = await startUpstreamScene(t, 100_000);
  started.onSend = ({ socket }) => socket?.cork(); // as if the kernel took nothing
  const size = 100_000; // more than the client's connection takes, and what is left is read ahead
  started.silent.script = (socket) =>
    socket.write(`HTTP/1.1 200 OK\r\nContent-Length: ${size}\r\n\r\n${'.'.repeat(size)}`);
  const client = await ask();
  const progress = await until(() => started.progress[0]);
  await until(() => isStill(() => progress.bytesOut));
  started.onSend = () => undefined;
  client.socket.destroy();
  await until(() => progress.cut);
  assert.equal(await statusOf(), 200);
  assert.equal(started.silent.received.length, 1);
});

test('who waits for the connection of an upload finds it free or gone, however late it is told over TLS that all of that has left', async (t) => {
  const certificate = makeCertificate(t, ['IP:127.0.0.1']);
  const secure = createHttpsServer(
    certificate,
    (req, res) => void req.resume().on('end', () => res.end('ok')),
  );
  const target = `https://127.0.0.1:${await listen(t, secure)}`;
  const { ask, started } = await startUpstreamScene(t, 100_000, { target, ca: certificate.cert });
  let turns = 0;
  tellLate(t, () => turns);
  for (turns of [1, 2, 3]) {
    const raws = await Promise.all([ask(), ask(), ask(), ask()]);
    for (const raw of raws) assert.equal((await raw.responses(1))[0]?.text, 'ok');
  }
  assert.deepEqual([started.refusals, started.setAside], [[], []]);
});

/** As on a busy machine: that something has left over TLS is told so many turns of the event loop later. */
function tellLate(t: TestContext, turns: () => number): void {
  const sockets = Socket.prototype as unknown as Record<'_write' | '_writev', (...args: unknown[]) => void>;
  for (const name of ['_write', '_writev'] as const) {
    const write = sockets[name];
    t.mock.method(sockets, name, function writeLate(this: Socket, ...args: unknown[]): void {
      const done = args.pop() as (error?: Error) => void;
      let left = this instanceof TLSSocket ? turns() : 0;
      function tell(error?: Error): void {
        if (left === 0) return done(error);
        left -= 1;
        setImmediate(tell, error);
      }
      write.call(this, ...args, tell);
    });
  }
}

for (const [lane, size] of Object.entries({ buffered: 10_000, streamed: 100_000 })) {
  test(`what was answered is let go, although its connection and that of its client are kept: ${lane}`, async (t) => {
    const { ask, started } = await startUpstreamScene(t, size);
    started.silent.script = answerNothing;
    const client = await ask();
    assert.equal((await client.responses(1))[0]?.status, 204);
    await until(() => {
      collectGarbage();
      return started.bodies.every((body) => body.deref() === undefined);
    });
    assert.equal(started.silent.sockets.size, 1);
  });
}

for (const [lane, size] of Object.entries({ buffered: 10_000, streamed: 100_000 })) {
  test(`an answer in chunks of one byte to a client that reads nothing takes little more than its bytes: ${lane}`, async (t) => {
    const { ask, started } = await startUpstreamScene(t, size);
    let client: Socket | undefined;
    started.onSend = ({ socket }) => {
      client = socket ?? undefined;
      client?.cork(); // as if the kernel took nothing
    };
    const count = 100_000;
    const many = '1\r\nx\r\n'.repeat(count);
    started.silent.script = (socket) =>
      socket.write(`HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n${many}0\r\n\r\n`);
    const before = memoryUsed();
    const raw = await ask();
    const progress = await until(() => started.progress[0]);
    await until(() => isStill(() => progress.bytesOut));
    const grownBytes = memoryUsed() - before;
    client?.uncork();
    assert.equal((await raw.responses(1))[0]?.body.length, count);
    assert.ok(grownBytes < 40 * count, `${grownBytes} bytes`);
  });
}

for (const [lane, size] of Object.entries({ buffered: 10_000, streamed: 100_000 })) {
  test(`a resolver that is silent holds nothing of what was given up: ${lane}`, async (t) => {
    const { ask, started } = await startUpstreamScene(t, size, {
      target: `http://silent-${lane}.test`,
      connectMs: 20,
    });
    const asked = silenceResolver(t);
    for (let requests = 1; requests <= 3; requests += 1) {
      await ask();
      await until(() => started.refusals.length === requests);
    }
    assert.deepEqual(new Set(started.refusals), new Set(['upstream_timeout']));
    assert.deepEqual(asked, [`silent-${lane}.test`]);
    await until(() => {
      collectGarbage();
      return started.bodies.every((body) => body.deref() === undefined);
    });
  });
}

test('a kept connection holds no header of the request that it was opened for, in neither lane', async (t) => {
  const secret = Buffer.from(randomBytes(20).toString('hex'));
  const header = [Buffer.from('authorization'), secret];
  const lanes = await Promise.all([10_000, 100_000].map((size) => startUpstreamScene(t, size, { header })));
  const askEach = async (): Promise<void> => {
    for (const { ask } of lanes) {
      const client = await ask();
      assert.equal((await client.responses(1))[0]?.status, 204);
      client.socket.destroy();
    }
  };
  for (const { started } of lanes) started.silent.script = answerNothing;
  await askEach();
  await until(
    async () => {
      // Or the connections would be ended as idle in the meantime, and hold nothing for that reason.
      await askEach();
      return !(await heapHolds(secret));
    },
    { within: 20_000 },
  );
  for (const { started } of lanes) {
    assert.ok(started.silent.received[0]?.includes(secret));
    assert.equal(started.silent.sockets.size, 1);
  }
});

for (const [lane, size] of Object.entries({ buffered: 10_000, streamed: 100_000 })) {
  test(`a request that finds nothing left for a connection to one target has the other, and blames none: ${lane}`, async (t) => {
    const spare = await startRawUpstream(t, answerNothing);
    const target = `http://short-${lane}.test`;
    const { statusOf, started } = await startUpstreamScene(t, size, { target, others: [spare.url] });
    failResolver(t, 'EMFILE');
    for (let turn = 0; turn < 4; turn += 1) {
      assert.equal(await statusOf(), 204);
    }
    assert.deepEqual([started.setAside, started.errors], [[], []]);
  });
}

test('a look at targets that finds nothing left for a connection comes to what the one before it did', async (t) => {
  const silent = await startRawUpstream(t);
  const { upstream } = await startUpstreamScene(t, 0, {
    target: silent.url,
    others: ['http://short-look.test'],
  });
  failResolver(t, 'EMFILE');
  await upstream.probe();
  await silent.close();
  await upstream.probe();
});

test('a look at targets that finds nothing left for a connection knows of the answers there were', async (t) => {
  const answering = await startRawUpstream(t, answerNothing);
  const others = ['http://short-answered.test'];
  const { statusOf, upstream } = await startUpstreamScene(t, 0, { target: answering.url, others });
  failResolver(t, 'EMFILE');
  assert.equal(await statusOf(), 204);
  await answering.close();
  await upstream.probe();
});

test('a look at targets that finds nothing left for a connection tells of none that was never reached', async (t) => {
  const { upstream } = await startUpstreamScene(t, 0, { target: 'http://short-first.test' });
  failResolver(t, 'EMFILE');
  await assert.rejects(upstream.probe());
});

test('a look at targets of which none can be reached any more fails', async (t) => {
  const silent = await startRawUpstream(t);
  const { upstream } = await startUpstreamScene(t, 0, { target: silent.url });
  await upstream.probe();
  await silent.close();
  await assert.rejects(upstream.probe());
});

test('a target is not to blame for the time that went by in the line for its connections', async (t) => {
  const { ask, started } = await startUpstreamScene(t, 100, { responseMs: 200 });
  // One after the other, so that some get their seat in the very moment in which their time is over.
  for (let clients = 0; clients < 60; clients += 1) await ask();
  await until(() => started.refusals.length === 60);
  assert.deepEqual(new Set(started.refusals), new Set(['upstream_timeout']));
  assert.deepEqual(started.setAside, []);
});

const lanes = {
  buffered: { size: 100, bodyOf: inMemory },
  streamed: { size: 100_000, bodyOf: inMemory },
  'of a spool': { size: 100, bodyOf: (bytes: Buffer) => streamed(bytes, { repeatable: true }) },
  'read once': { size: 100, bodyOf: (bytes: Buffer) => streamed(bytes, { repeatable: false }) },
};
for (const [lane, { size, bodyOf }] of Object.entries(lanes)) {
  test(`a kept connection that is closed just before a POST is sent costs the POST nothing, and the target no blame: ${lane}`, async (t) => {
    const { statusOf, started } = await startUpstreamScene(t, size, { bodyOf });
    const nothing = 'HTTP/1.1 204 No Content\r\n\r\n';
    started.silent.script = (socket) => socket.write(nothing);
    assert.equal(await statusOf(), 204);
    const [kept] = started.silent.sockets;
    // After the last look at the connection, and before it is written to.
    started.onSend = () => setImmediate(() => kept?.resetAndDestroy());
    assert.equal(await statusOf(), 204);
    assert.deepEqual(started.setAside, []);
    assert.deepEqual(started.refusals, []);
    assert.equal(started.silent.received.length, 2);
  });
}

test('a GET under which a kept connection closes is sent once more, over a new one and no other that is kept', async (t) => {
  const { ask, statusOf, started } = await startUpstreamScene(t, 0, { connections: 2 });
  const { silent } = started;
  started.method = 'GET';
  const nothing = 'HTTP/1.1 204 No Content\r\n\r\n';
  silent.script = (socket) =>
    void until(() => silent.received.length === 2).then(() => socket.write(nothing));
  for (const client of [await ask(), await ask()]) await client.responses(1);
  const kept = new Set(silent.sockets);
  let lost = 0;
  silent.script = (socket) => {
    if (!kept.has(socket)) return socket.write(nothing);
    lost += 1;
    return socket.destroy();
  };
  assert.equal(await statusOf(), 204);
  assert.deepEqual([kept.size, lost], [2, 1]);
});

for (const [lane, size] of Object.entries({ buffered: 100, streamed: 100_000 })) {
  for (const codings of [
    'gzip',
    'gzip, chunked',
    'chunked\r\nTransfer-Encoding: gzip',
    'chunked\r\nTransfer-Encoding: chunked',
    'chunked\t',
    'chunked\t ',
    'chunked \t  ',
  ]) {
    test(`an answer with ${JSON.stringify(codings)} is refused: ${lane}`, async (t) => {
      const { ask, started } = await startUpstreamScene(t, size, { bodyOf: inMemory });
      started.silent.script = (socket) =>
        socket.end(`HTTP/1.1 200 OK\r\nTransfer-Encoding: ${codings}\r\n\r\n2\r\nok\r\n0\r\n\r\n`);
      await (await ask()).receivedUntilClose();
      assert.deepEqual(started.refusals, ['upstream_broken']);
      assert.equal(started.progress[0]?.answered, undefined);
    });
  }

  for (const coding of [' chunked', '\tchunked', ' \t chunked', 'CHUNKED ', 'chunked  ']) {
    test(`an answer with "Transfer-Encoding:" and ${JSON.stringify(coding)} is taken apart: ${lane}`, async (t) => {
      const { ask, started } = await startUpstreamScene(t, size, { bodyOf: inMemory });
      started.silent.script = (socket) =>
        socket.end(`HTTP/1.1 200 OK\r\nTransfer-Encoding:${coding}\r\n\r\n2\r\nok\r\n0\r\n\r\n`);
      const [answer] = await (await ask()).responses(1);
      assert.equal(answer?.body.toString(), 'ok');
    });
  }
}

const farewell = 'HTTP/1.1 408 Request Timeout\r\nConnection: close\r\nContent-Length: 0\r\n\r\n';
const befalls: Record<string, (kept: Socket) => unknown> = {
  'a farewell': (kept) => kept.end(farewell),
  'the answer of somebody else': (kept) => kept.write('HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\nx'),
  'an answer that breaks off': (kept) => kept.end('HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nx'),
  'no HTTP': (kept) => kept.write('x'),
  'its end': (kept) => kept.end(),
  'a reset': (kept) => kept.resetAndDestroy(),
};
for (const [name, befall] of Object.entries(befalls)) {
  test(`what a kept connection brings before anything has left on it costs the request nothing: ${name}`, async (t) => {
    const late = lateBody();
    const { ask, statusOf, started } = await startUpstreamScene(t, 100, { bodyOf: late.bodyOf });
    started.silent.script = answerNothing;
    assert.equal(await statusOf(), 204);
    const [kept] = started.silent.sockets;
    late.begin();
    const client = await ask();
    await late.whenAsked;
    befall(kept!);
    assert.equal((await client.responses(1))[0]?.status, 204);
    assert.deepEqual(started.setAside, []);
    assert.equal(started.silent.received.length, 2);
  });
}

test('a body that breaks its rule before any of it has left on a kept connection is not begun once more', async (t) => {
  let readings = 0;
  const spoilt = (bytes: Buffer): Body => ({
    ...streamed(bytes, { repeatable: true }),
    read: async function* () {
      readings += 1;
      if (readings > 1) throw new Refusal('body_invalid');
      yield bytes;
    },
  });
  const { ask, statusOf, started } = await startUpstreamScene(t, 100, { bodyOf: spoilt });
  started.silent.script = answerNothing;
  assert.equal(await statusOf(), 204);
  await ask();
  await until(() => started.refusals.length === 1);
  assert.deepEqual(started.refusals, ['body_invalid']);
  assert.equal(readings, 2);
  assert.deepEqual(started.setAside, []);
});

test('a body that cannot be read is a fault of our own, and no target is left aside for it', async (t) => {
  const others = [(await startAnswering(t)).url];
  const { ask, started } = await startUpstreamScene(t, 100, { bodyOf: unreadable, others });
  await ask();
  await until(() => started.refusals.length === 1);
  assert.deepEqual([started.refusals, started.setAside, started.errors], [['internal'], [], []]);
});

test('an answer that breaks off because the body cannot be read any more was cut by ourselves', async (t) => {
  const target = await startRawUpstream(t);
  const fault = Promise.withResolvers<never>();
  async function* read(): AsyncGenerator<Buffer, void> {
    yield Buffer.from('x');
    await fault.promise;
  }
  const bodyOf = (bytes: Buffer): Body => ({ ...streamed(bytes, { repeatable: true }), read });
  const { ask, started } = await startUpstreamScene(t, 100, { bodyOf, target: target.url });
  const client = await ask();
  await until(() => target.received.length === 1);
  for (const socket of target.sockets) socket.write('HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhalf');
  await client.receivedUntil((bytes) => bytes.includes('half'));
  fault.reject(new Error('a bad disk'));
  await client.receivedUntilClose();
  assert.deepEqual([started.progress[0]?.cut, started.errors], ['gateway', []]);
});

test('a target with one connection never has two, also none that is kept', async (t) => {
  const bodies = { inMemory, streamed: (bytes: Buffer) => streamed(bytes, { repeatable: true }) };
  const turns = [
    ['inMemory', 'POST'],
    ['streamed', 'POST'],
    ['inMemory', 'POST'],
    ['inMemory', 'DELETE'], // which has a connection of its own
    ['streamed', 'POST'],
    ['streamed', 'DELETE'],
    ['inMemory', 'POST'],
    ['streamed', 'DELETE'],
  ] as const;
  let turn = 0;
  const { statusOf, started } = await startUpstreamScene(t, 100, {
    bodyOf: (bytes) => bodies[turns[turn]![0]](bytes),
  });
  const { silent } = started;
  // As a server does that has one thread. It would keep each connection for minutes, and the gateway one for 4 s at least.
  silent.script = (socket) => {
    void until(() => silent.sockets.size === 1, { within: 3000 }).then(
      () => socket.write('HTTP/1.1 204 No Content\r\nKeep-Alive: timeout=600\r\n\r\n'),
      () => socket.destroy(),
    );
  };
  for (; turn < turns.length; turn += 1) {
    started.method = turns[turn]![1];
    assert.equal(await statusOf(), 204, `turn ${turn}`);
  }
  assert.deepEqual(started.refusals, []);
});

test('each of two requests that need a connection at once has one that is kept closed for it', async (t) => {
  const bodies = { inMemory, streamed: (bytes: Buffer) => streamed(bytes, { repeatable: true }) };
  let way: keyof typeof bodies = 'streamed';
  const { ask, started } = await startUpstreamScene(t, 100, {
    connections: 2,
    bodyOf: (bytes) => bodies[way](bytes),
  });
  const { silent } = started;
  silent.script = (socket) => {
    void until(() => silent.received.length % 2 === 0 && silent.sockets.size === 2, { within: 3000 }).then(
      () => socket.write('HTTP/1.1 204 No Content\r\nKeep-Alive: timeout=600\r\n\r\n'),
      () => socket.destroy(),
    );
  };
  for (way of ['streamed', 'inMemory', 'streamed'] as const)
    assert.deepEqual(
      (await (await ask(2)).responses(2)).map(({ status }) => status),
      [204, 204],
    );
  assert.equal(silent.received.length, 6);
});

for (const [lane, size] of Object.entries({ buffered: 10_000, streamed: 100_000 })) {
  test(`an upstream that is closed uses no connection once more: ${lane}`, async (t) => {
    const { statusOf, started, upstream } = await startUpstreamScene(t, size);
    const { silent } = started;
    silent.script = answerNothing;
    for (const connections of [1, 1, 2, 3]) {
      if (connections === 2) upstream.close();
      assert.equal(await statusOf(), 204);
      assert.equal(silent.received.length, connections);
    }
  });
}

test('a farewell of which a part came before anything had left is not completed by the rest', async (t) => {
  const late = lateBody();
  const { ask, statusOf, started } = await startUpstreamScene(t, 100, { bodyOf: late.bodyOf });
  started.silent.script = answerNothing;
  assert.equal(await statusOf(), 204);
  const [kept] = started.silent.sockets;
  started.silent.script = (socket) =>
    socket.write(socket === kept ? farewell.slice(20) : 'HTTP/1.1 204 No Content\r\n\r\n');
  late.begin();
  const client = await ask();
  await late.whenAsked;
  await new Promise<unknown>((written) => kept?.write(farewell.slice(0, 20), written));
  // What the kernel has is read in the next turn of the loop.
  for (let turn = 0; turn < 2; turn += 1) await new Promise(setImmediate);
  late.come();
  assert.equal((await client.responses(1))[0]?.status, 204);
});

test('a request that had a connection on which nothing left was not sent', async (t) => {
  const late = lateBody();
  const { ask, statusOf, started } = await startUpstreamScene(t, 100, { bodyOf: late.bodyOf });
  started.silent.script = answerNothing;
  assert.equal(await statusOf(), 204);
  late.begin();
  await ask();
  await late.whenAsked;
  await started.silent.close();
  await until(() => started.refusals.length === 1);
  assert.deepEqual(started.refusals, ['upstream_unreachable']);
  assert.deepEqual(
    started.progress.map(({ sent }) => sent),
    [true, false],
  );
});

test('a target that closes connections before anything has left on them is left aside for another', async (t) => {
  const late = lateBody();
  let accepted = 0;
  const closing = createTcpServer((socket) => {
    accepted += 1;
    void late.whenAsked.then(() => socket.destroy());
  });
  const url = `http://127.0.0.1:${await listen(t, closing)}`;
  const { statusOf, started } = await startUpstreamScene(t, 100, { bodyOf: late.bodyOf, others: [url] });
  started.silent.script = answerNothing;
  late.begin();
  assert.equal(await statusOf(), 204);
  assert.equal(accepted, 1);
  assert.deepEqual(started.setAside, [url]);
});

test('a target that stays away is told of once, however often it is tried again', async (t) => {
  const clock = putAhead(t);
  let tries = 0;
  const closing = createTcpServer((socket) => {
    tries += 1;
    socket.resetAndDestroy();
  });
  const url = `http://127.0.0.1:${await listen(t, closing)}`;
  const { statusOf, started } = await startUpstreamScene(t, 100, { others: [url] });
  started.silent.script = answerNothing;
  for (let turn = 0; turn < 4; turn += 1) {
    // The two take turns.
    for (let each = 0; each < 2; each += 1) assert.equal(await statusOf(), 204);
    clock.aheadMs += 60_000;
  }
  assert.equal(tries, 4);
  assert.deepEqual(started.setAside, [url]);
});

for (const [lane, size] of Object.entries({ buffered: 100, streamed: 100_000 })) {
  test(`a target that takes requests and answers none is left aside, and tried by one at a time: ${lane}`, async (t) => {
    const clock = putAhead(t);
    const other = await startAnswering(t);
    const { ask, started } = await startUpstreamScene(t, size, {
      responseMs: soonMs,
      connections: 10,
      others: [other.url],
    });
    const { silent } = started;
    const answered = async (count: number) => {
      for (const client of await Promise.all(Array.from({ length: count }, ask)))
        assert.equal((await client.responses(1))[0]?.status, 204);
    };
    await ask();
    await ask();
    await until(() => started.refusals.length === 1);
    assert.deepEqual(started.setAside, [silent.url]);
    await answered(4);
    clock.aheadMs += 3000;
    const clients = await Promise.all(Array.from({ length: 6 }, ask));
    await until(() => started.refusals.length === 2);
    assert.equal(silent.received.length, 2, 'one of the six tried it');
    for (const { socket } of clients) socket.destroy();
    clock.aheadMs += 3000;
    silent.script = answerNothing;
    await answered(6);
    assert.deepEqual([started.setAside, started.usedAgain], [[silent.url], [silent.url]]);
    assert.deepEqual(started.refusals, ['upstream_timeout', 'upstream_timeout']);
    const before = other.requests;
    await answered(6);
    assert.equal(other.requests, before + 3, 'they take turns again');
  });

  test(`a target that answers others is not left aside for one answer that took too long: ${lane}`, async (t) => {
    const { ask, started } = await startUpstreamScene(t, size, {
      responseMs: soonMs,
      connections: 10,
      others: [(await startAnswering(t)).url],
    });
    const { silent } = started;
    silent.script = (socket) => {
      if (silent.received.length > 1) socket.write('HTTP/1.1 204 No Content\r\n\r\n');
    };
    const slow = await Promise.all([ask(), ask()]);
    await until(() => silent.received.length === 1);
    for (const client of await Promise.all([ask(), ask()]))
      assert.equal((await client.responses(1))[0]?.status, 204);
    await until(() => started.refusals.length === 1);
    assert.deepEqual(started.setAside, []);
    for (const { socket } of slow) socket.destroy();
  });
}

for (const [lane, size] of Object.entries({ buffered: 10_000, streamed: 100_000 })) {
  test(`an answer that came while the process was held up came in time: ${lane}`, async (t) => {
    const responseMs = 400;
    const { statusOf, started } = await startUpstreamScene(t, size, { responseMs });
    started.silent.script = (socket) => {
      socket.write('HTTP/1.1 204 No Content\r\n\r\n');
      holdUp(2 * responseMs);
    };
    assert.equal(await statusOf(), 204);
  });
}

test('an answer to who asked before its target went away does not bring it back', async (t) => {
  const held: Socket[] = [];
  const leaving = createTcpServer((socket) => void held.push(socket));
  const target = `http://127.0.0.1:${await listen(t, leaving)}`;
  const other = await startAnswering(t);
  const { ask, started } = await startUpstreamScene(t, 100, { connections: 10, target, others: [other.url] });
  const clients = [await ask(), await ask()];
  await until(() => held.length === 1 && other.requests === 1);
  leaving.close();
  while (started.setAside.length === 0) assert.equal((await (await ask()).responses(1)).length, 1);
  held[0]?.end('HTTP/1.1 204 No Content\r\n\r\n');
  for (const client of clients) assert.equal((await client.responses(1))[0]?.status, 204);
  assert.deepEqual([started.setAside, started.usedAgain], [[target], []]);
});

test('a target that could not be reached is used in turn again as soon as it can be, however long that takes an answer', async (t) => {
  const clock = putAhead(t);
  let isAway = true;
  const held: Socket[] = [];
  const slow = createTcpServer((socket) => {
    socket.on('error', () => socket.destroy());
    if (isAway) socket.resetAndDestroy();
    else held.push(socket);
  });
  const target = `http://127.0.0.1:${await listen(t, slow)}`;
  const other = await startAnswering(t);
  const { ask, started } = await startUpstreamScene(t, 100, { connections: 10, target, others: [other.url] });
  while (started.setAside.length === 0) assert.equal((await (await ask()).responses(1)).length, 1);
  isAway = false;
  clock.aheadMs += 2500;
  const before = other.requests;
  await Promise.all([ask(), ask()]);
  await until(() => held.length === 1 && other.requests === before + 1);
  await Promise.all(Array.from({ length: 6 }, ask));
  await until(() => held.length === 4 && other.requests === before + 4);
});

test('a target that cannot be reached keeps one request at a time waiting for a connection', async (t) => {
  const clock = putAhead(t);
  const other = await startAnswering(t);
  const target = `http://127.0.0.1:${await openBlackHole(t)}`;
  const { ask, statusOf, started } = await startUpstreamScene(t, 100, {
    connectMs: 500,
    connections: 10,
    target,
    others: [other.url],
  });
  while (started.setAside.length === 0) assert.equal(await statusOf(), 204);
  clock.aheadMs += 2500;
  const before = started.errors.length;
  const clients = await Promise.all(Array.from({ length: 6 }, () => ask()));
  for (const client of clients) assert.equal((await client.responses(1))[0]?.status, 204);
  assert.deepEqual(started.errors.slice(before), ['timeout']);
});

for (const [lane, size] of Object.entries({ buffered: 10_000, streamed: 100_000 })) {
  test(`a connection that is always in use is given up after a while: its name may lead elsewhere by then: ${lane}`, async (t) => {
    const clock = putAhead(t);
    const chance = t.mock.method(Math, 'random', () => 0);
    const seen = { connections: 0 };
    const server = createServer((req, res) => {
      req.resume();
      req.on('end', () => res.writeHead(204).end());
    });
    server.on('connection', () => (seen.connections += 1));
    const { statusOf } = await startUpstreamScene(t, size, {
      target: `http://127.0.0.1:${await listen(t, server)}`,
    });
    async function secondsUntil(connections: number): Promise<number> {
      const from = performance.now();
      for (; seen.connections < connections && clock.aheadMs < 800_000; clock.aheadMs += 2000)
        assert.equal(await statusOf(), 204);
      return (performance.now() - from) / 1000;
    }
    assert.equal(await statusOf(), 204);
    chance.mock.mockImplementation(() => 0.999);
    const [shortest, longest] = [await secondsUntil(2), await secondsUntil(3)];
    // Not all of those that were opened together at the same time.
    assert.ok(Math.abs(shortest - 240) <= 8 && Math.abs(longest - 300) <= 8, `${shortest} s, ${longest} s`);
  });
}

test('who waits while targets are restarted one after the other goes to the one that is back', async (t) => {
  const clock = putAhead(t);
  const one = await startRecordingUpstream(t);
  const two = await startRawUpstream(t);
  const { ask, statusOf, started } = await startUpstreamScene(t, 100, { target: one.url, others: [two.url] });
  await one.close();
  const clients = [await ask(), await ask()];
  await until(() => started.setAside.length === 1 && two.received.length === 1);
  clients.push(await ask());
  await until(() => started.bodies.length === 3);
  await one.reopen();
  clock.aheadMs += 2500;
  assert.equal(await statusOf(), 200);
  await two.close();
  const statuses = clients.map(async (client) => (await client.responses(1))[0]?.status);
  assert.deepEqual(await Promise.all(statuses), [undefined, 200, 200]);
  assert.deepEqual(started.refusals, ['upstream_broken']);
});

test('a trial whose client leaves leaves the next one to try', async (t) => {
  const clock = putAhead(t);
  const other = await startAnswering(t);
  const { ask, started } = await startUpstreamScene(t, 100, {
    responseMs: soonMs,
    connections: 10,
    others: [other.url],
  });
  const { silent } = started;
  await ask();
  await ask();
  await until(() => started.refusals.length === 1);
  assert.deepEqual(started.setAside, [silent.url]);
  clock.aheadMs += 2500;
  const clients = await Promise.all([ask(), ask()]);
  await until(() => silent.received.length === 2);
  for (const { socket } of clients) socket.destroy();
  await until(() => started.refusals.length === 2);
  await Promise.all([ask(), ask()]);
  await until(() => silent.received.length === 3);
});

test('who waits in line behind a request that is answered nothing does not try the same target', async (t) => {
  const other = await startAnswering(t);
  const { ask, started } = await startUpstreamScene(t, 100, { responseMs: soonMs, others: [other.url] });
  const { silent } = started;
  const clients = await Promise.all(Array.from({ length: 5 }, ask));
  await until(() => started.refusals.length === 1 && other.requests === 4);
  assert.equal(silent.received.length, 1);
  assert.deepEqual(started.setAside, [silent.url]);
  for (const { socket } of clients) socket.destroy();
});

/** For answers that do not come, where others do. */
const soonMs = 400;

/** Has time go on by more than it does. */
function putAhead(t: TestContext): { aheadMs: number } {
  const clock = { aheadMs: 0 };
  const now = performance.now.bind(performance);
  t.mock.method(performance, 'now', () => now() + clock.aheadMs);
  return clock;
}

async function startAnswering(t: TestContext) {
  const answering = { url: '', requests: 0 };
  const server = createServer((req, res) => {
    answering.requests += 1;
    req.resume();
    res.writeHead(204).end();
  });
  answering.url = `http://127.0.0.1:${await listen(t, server)}`;
  return answering;
}

for (const [lane, size] of Object.entries({ buffered: 100, streamed: 100_000 })) {
  test(`tries at targets that cannot be reached leave nothing behind on the answer: ${lane}`, async (t) => {
    const others = Array.from({ length: 30 }, (_, at) => `http://127.0.0.1:${at + 1}`);
    const { statusOf, started } = await startUpstreamScene(t, size, { others });
    started.silent.script = answerNothing;
    let closeListeners = 0;
    started.onSend = (res) =>
      res.on('newListener', (name) => {
        if (name === 'close') closeListeners = Math.max(closeListeners, res.listenerCount('close'));
      });
    assert.equal(await statusOf(), 204);
    assert.ok(started.setAside.length > 10, `${started.setAside.length} tries`);
    assert.ok(closeListeners < 5, `${closeListeners} listeners`);
  });
}

test('a target that comes and goes is told of now and then', async (t) => {
  const clock = putAhead(t);
  let isAway = false;
  const flapping = createTcpServer((socket) => {
    if (isAway) socket.resetAndDestroy();
    else socket.once('data', () => socket.end('HTTP/1.1 204 No Content\r\nConnection: close\r\n\r\n'));
  });
  const target = `http://127.0.0.1:${await listen(t, flapping)}`;
  const { ask, statusOf, started } = await startUpstreamScene(t, 100, { target });
  const fail = async (): Promise<void> => {
    isAway = true;
    const before = started.refusals.length;
    await ask();
    await until(() => started.refusals.length > before);
  };
  const flap = async (): Promise<void> => {
    await fail();
    isAway = false;
    assert.equal(await statusOf(), 204);
  };
  for (let times = 0; times < 3; times += 1) await flap();
  assert.deepEqual([started.setAside, started.usedAgain], [[target], [target]]);
  await fail();
  assert.deepEqual(started.setAside, [target]);
  clock.aheadMs += 6000;
  await flap();
  assert.deepEqual(started.setAside, [target, target]);
  assert.deepEqual(started.usedAgain, [target, target]);
});

/** Bodies of which the first reading, once `begin` was called, brings nothing until `come` is. */
function lateBody() {
  const { promise: whenAsked, resolve: asked } = Promise.withResolvers<void>();
  const { promise: whenThere, resolve: come } = Promise.withResolvers<void>();
  let isLate = false;
  const bodyOf = (bytes: Buffer): Body => {
    const read = async function* (): AsyncGenerator<Buffer, void> {
      if (isLate) {
        isLate = false;
        asked();
        await whenThere;
      }
      yield bytes;
    };
    return { ...streamed(bytes, { repeatable: true }), read };
  };
  return { bodyOf, whenAsked, come, begin: () => void (isLate = true) };
}

/** Waits on a disk that has gone bad. */
function unreadable(bytes: Buffer): Body {
  return {
    ...streamed(bytes, { repeatable: true }),
    read: () => ({ [Symbol.asyncIterator]: () => ({ next: findBadDisk }) }),
  };
}

function findBadDisk(): Promise<never> {
  return Promise.reject(new Error('a bad disk'));
}

function streamed(bytes: Buffer, { repeatable }: { repeatable: boolean }): StreamedBody {
  let isBegun = false;
  return {
    kind: 'stream',
    length: bytes.length,
    read: async function* () {
      assert.ok(repeatable || !isBegun, 'it was read twice');
      yield bytes;
      isBegun = true;
    },
    release: () => undefined,
  };
}

/** Above zero, and the same for a while. */
async function isStill(read: () => number): Promise<boolean> {
  const before = read();
  for (let turns = 0; turns < 50; turns += 1) await nextTurn();
  return before > 0 && read() === before;
}
