import assert from 'node:assert/strict';
import { once } from 'node:events';
import type { ClientRequest } from 'node:http';
import { connect, createServer, type Socket } from 'node:net';
import { test } from 'node:test';
import type { Relay } from '../../../../src/upstream/relay.ts';
import { BodySender } from '../../../../src/upstream/streamed/body-sender.ts';
import { holdUp } from '../../../helpers/hold-up.ts';
import { listen } from '../../../helpers/listen.ts';

test('what an upstream took while the process was held up it took in time', async (t) => {
  const idleMs = 200;
  const failures: Error[] = [];
  const relay = {
    isOver: false,
    hasLeft: true,
    requestLeaves: () => undefined,
    requestSent: () => undefined,
    breakOff: (error: Error) => void failures.push(error),
  } as unknown as Relay;
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
  const body = { kind: 'bytes', bytes: Buffer.from('x'), release: () => undefined } as const;
  const sender = new BodySender({ body, outgoing, kept: undefined, relay, idleMs });
  await new Promise<void>((resolve) => void sender.send(resolve));
  assert.deepEqual(failures, []);
  sender.stop();
});
