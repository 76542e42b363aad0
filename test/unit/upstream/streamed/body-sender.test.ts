import assert from 'node:assert/strict';
import { once } from 'node:events';
import type { ClientRequest } from 'node:http';
import { connect, createServer, type Socket } from 'node:net';
import { test } from 'node:test';
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { StreamedBody } from '../../../../src/bodies/body.ts';
import type { Relay } from '../../../../src/upstream/relay.ts';
import { BodySender } from '../../../../src/upstream/streamed/body-sender.ts';
import { fakeTimers } from '../../../helpers/fake-timers.ts';
import { holdUp } from '../../../helpers/hold-up.ts';
import { listen } from '../../../helpers/listen.ts';

test('what an upstream took while the process was held up it took in time', async (t) => {
  const idleMs = 200;
  const { relay, failures } = relayOfBody();
  const server = createServer();
  const kernel = connect(await listen(t, server), '127.0.0.1');
  t.after(() => void kernel.destroy());
  const [far] = (await once(server, 'connection')) as [Socket];
  const outgoing = outgoingThat((whenTaken) => {
    // Told as it is by the kernel: when the loop looks for it next.
    kernel.once('data', whenTaken);
    far.write('taken');
    holdUp(2 * idleMs);
  });
  const sender = new BodySender({ body, outgoing, relay, idleMs });
  await sender.send();
  assert.deepEqual(failures, []);
  sender.stop();
});

for (const order of ['waits when its', 'comes while its', 'comes after its'] as const) {
  test(`a chunk that ${order} client reads nothing of the answer is timed once the client reads on`, async (t) => {
    const pass = fakeTimers(t);
    const { relay, failures } = relayOfBody();
    const outgoing = outgoingThat(() => undefined);
    const sender = new BodySender({ body, outgoing, relay, idleMs: 20 });
    const send = async (): Promise<void> => {
      void sender.send();
      await nextTurn();
    };
    const letTimePass = async (): Promise<void> => {
      pass(20);
      await nextTurn();
    };
    if (order === 'waits when its') await send();
    sender.hold();
    if (order === 'comes while its') await send();
    await letTimePass();
    assert.deepEqual(failures, []);
    sender.goOn();
    if (order === 'comes after its') await send();
    await letTimePass();
    assert.match(String(failures), /took nothing for 20 ms/);
    sender.stop();
  });
}

test('an upstream that has taken what came is not timed, nor when the client reads on', async (t) => {
  const pass = fakeTimers(t);
  const { relay, failures } = relayOfBody();
  const outgoing = outgoingThat((whenTaken) => whenTaken());
  const { promise: rest, resolve: end } = Promise.withResolvers<void>();
  const sender = new BodySender({ body: arrivingUntil(rest), outgoing, relay, idleMs: 20 });
  const sent = sender.send();
  await nextTurn();
  for (let time = 0; time < 2; time += 1) {
    pass(20);
    await nextTurn();
    assert.deepEqual(failures, []);
    sender.hold();
    sender.goOn();
  }
  end();
  await sent;
  sender.stop();
});

test('what is wrong with the rest of a body, which nobody wants any more, breaks off no answer', async () => {
  const { relay, failures } = relayOfBody();
  const outgoing = outgoingThat((whenTaken) => whenTaken());
  const { promise: rest, reject: spoil } = Promise.withResolvers<void>();
  const sender = new BodySender({ body: arrivingUntil(rest), outgoing, relay, idleMs: 20 });
  const sent = sender.send();
  await nextTurn();
  assert.equal(sender.giveUpRest(), true);
  spoil(new Error('it is too large'));
  await sent;
  assert.deepEqual(failures, []);
  sender.stop();
});

for (const [name, rest] of [
  ['chunk', [Buffer.from('y')]],
  ['end', []],
] as const) {
  test(`a request that is over is given no ${name} of its body any more`, async () => {
    const given: string[] = [];
    const outgoing = Object.assign(
      outgoingThat((whenTaken) => {
        given.push('chunk');
        whenTaken();
      }),
      { end: () => given.push('end') },
    );
    const { promise, resolve } = Promise.withResolvers<readonly Buffer[]>();
    const { relay } = relayOfBody();
    const sender = new BodySender({ body: arrivingUntil(promise), outgoing, relay, idleMs: 20 });
    const sent = sender.send();
    await nextTurn();
    outgoing.destroyed = true;
    resolve(rest);
    await sent;
    assert.deepEqual(given, ['chunk']);
    sender.stop();
  });
}

/** A body that has begun to arrive, and ends with the rest. */
function arrivingUntil(rest: Promise<readonly Buffer[] | void>): StreamedBody {
  async function* read(): AsyncGenerator<Buffer, void> {
    yield body.bytes;
    yield* (await rest) ?? [];
  }
  return { kind: 'stream', length: undefined, read, release: () => undefined };
}

/** A request whose chunks are given to the kernel, which tells when it has taken them. */
function outgoingThat(write: (whenTaken: () => void) => void): ClientRequest {
  return {
    destroyed: false,
    write: (_chunk: Buffer, whenTaken: () => void) => write(whenTaken),
    end: () => undefined,
    destroy: () => undefined,
  } as unknown as ClientRequest;
}

const body = { kind: 'bytes', bytes: Buffer.from('x'), length: 1, release: () => undefined } as const;

/** The relay of a request that is being sent, and why it was broken off. */
function relayOfBody() {
  const failures: Error[] = [];
  const relay = {
    isOver: false,
    hasLeft: true,
    requestLeaves: () => undefined,
    requestSent: () => undefined,
    breakOff: (error: Error) => void failures.push(error),
  };
  return { relay: relay as unknown as Relay, failures };
}
