import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer, ServerResponse, type IncomingMessage } from 'node:http';
import type { Socket } from 'node:net';
import { test } from 'node:test';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { GatheringWriter } from '../../../src/upstream/gathering-writer.ts';
import { listen } from '../../helpers/listen.ts';
import { openRaw } from '../../helpers/raw-socket.ts';

test('what is written behind an upgrade that is answered in HTTP has room again when its client has caught up', async (t) => {
  const server = createServer();
  const client = await openRaw(t, await listen(t, server));
  client.socket.pause();
  client.write('GET / HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n');
  const [req, socket] = (await once(server, 'upgrade')) as [IncomingMessage, Socket];
  // As the door does.
  const res = new ServerResponse(req);
  res.assignSocket(socket);
  socket.on('drain', () => res.emit('drain'));
  t.after(() => void socket.destroy());

  const writer = new GatheringWriter(res);
  // More than the kernel takes at once.
  while (socket.writableLength === 0) {
    writer.write(Buffer.alloc(1024 * 1024));
    await nextTurn();
  }
  client.socket.resume();
  await once(res, 'drain');
  // The third is the first that has to wait for another.
  for (const piece of ['a', 'b', 'c']) assert.ok(writer.write(Buffer.from(piece)), piece);
  await client.receivedUntil((bytes) => bytes.subarray(-2).toString() === '\r\n' && bytes.includes('c\r\n'));
});
