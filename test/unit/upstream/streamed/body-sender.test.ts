import assert from 'node:assert/strict';
import { once } from 'node:events';
import type { ClientRequest } from 'node:http';
import { connect, createServer, type Socket } from 'node:net';
import { test } from 'node:test';
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { Relay } from '../../../../src/upstream/relay.ts';
import { BodySender } from '../../../../src/upstream/streamed/body-sender.ts';
import { holdUp } from '../../../helpers/hold-up.ts';
import { listen } from '../../../helpers/listen.ts';
import { until } from '../../../helpers/poll.ts';

test('what an upstream took while the process was held up it took in time', async (t) => {
  const idleMs = 200;
  const { relay, failures } = relayOfBody();
  const server = createServer();
  const kernel = connect(await listen(t, server), '127.0.0.1');
  t.after(() => void kernel.destroy());
  const [far] = (await once(server, 'connection')) as [Socket];
  const outgoing = {
    destroyed: false,
    write: (_chunk: Buffer, whenTaken: () => void) => {
      // Told as it is by the kernel: when the loop looks for it next.
      kernel.once('data', whenTaken);
      far.write('taken');
      holdUp(2 * idleMs);
    },
    end: () => undefined,
    destroy: () => undefined,
  } as unknown as ClientRequest;
  const sender = new BodySender({ body, outgoing, kept: undefined, relay, idleMs });
  await new Promise<void>((resolve) => void sender.send(resolve));
  assert.deepEqual(failures, []);
  sender.stop();
});

for (const order of ['came before', 'comes after'] as const) {
  test(`an upstream takes in time a chunk that ${order} its client reads the answer again, or is given up`, async () => {
    const { relay, failures } = relayOfBody();
    const outgoing = { destroyed: false, write: () => true, destroy: () => undefined };
    const sender = new BodySender({
      body,
      outgoing: outgoing as unknown as ClientRequest,
      kept: undefined,
      relay,
      idleMs: 20,
    });
    const send = async (): Promise<void> => {
      void sender.send(() => undefined);
      await nextTurn();
    };
    sender.hold();
    if (order === 'came before') await send();
    sender.goOn();
    if (order === 'comes after') await send();
    await until(() => failures.length > 0);
    assert.match(String(failures), /took nothing for 20 ms/);
    sender.stop();
  });
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
