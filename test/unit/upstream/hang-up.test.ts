import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect, createServer, type Socket } from 'node:net';
import { test, type TestContext } from 'node:test';
import { hangUp } from '../../../src/upstream/hang-up.ts';
import { listen } from '../../helpers/listen.ts';

test('a connection that its target has just ended is closed, without an error', async (t) => {
  const connection = await connectTo(t, (socket) => socket.end());
  connection.resume();
  await once(connection, 'end');
  hangUp(connection);
  await once(connection, 'close');
});

test('a connection that is still being made is closed, without an error, and is not made', async (t) => {
  let isMade = false;
  const connection = await connectTo(t, () => (isMade = true), false);
  hangUp(connection);
  await once(connection, 'close');
  assert.equal(isMade, false);
});

async function connectTo(t: TestContext, taken: (socket: Socket) => void, isOpen = true): Promise<Socket> {
  const server = createServer((socket) => {
    socket.on('error', () => socket.destroy());
    taken(socket);
  });
  const connection = connect(await listen(t, server), '127.0.0.1');
  t.after(() => connection.destroy());
  if (isOpen) await once(connection, 'connect');
  return connection;
}
