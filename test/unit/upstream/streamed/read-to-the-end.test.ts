import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect, createServer, type Socket } from 'node:net';
import { test } from 'node:test';
import { isClosed } from '../../../../src/upstream/failures.ts';
import { readToTheEnd } from '../../../../src/upstream/streamed/read-to-the-end.ts';
import { countTurns } from '../../../helpers/count-turns.ts';
import { listen } from '../../../helpers/listen.ts';
import { until } from '../../../helpers/poll.ts';

test('what came before a reset is read also by a reader that had paused', async (t) => {
  const server = createServer();
  const port = await listen(t, server);
  const arrival = once(server, 'connection');
  const socket = connect(port, '127.0.0.1');
  t.after(() => socket.destroy());
  readToTheEnd(socket);
  let read = 0;
  let ended = false;
  socket.on('data', (piece: Buffer) => (read += piece.length)).on('end', () => (ended = true));
  const failure = once(socket, 'close').catch((error: Error) => error);
  const [other] = (await arrival) as [Socket];
  other.on('error', () => undefined).pause();
  socket.pause();
  socket.write('a question');
  // Less than what is read ahead for one who takes nothing.
  const length = 50_000;
  other.write(Buffer.alloc(length));
  await until(() => socket.readableLength === length && socket.writableLength === 0);
  // In one turn, so that the writer hears of the reset before the reader does.
  other.resetAndDestroy();
  socket.write('more');
  const turns = countTurns(t);
  await until(() => turns() > 20);
  socket.resume();
  const error = await failure;
  assert.ok(error instanceof Error && isClosed(error));
  assert.equal(read, length);
  assert.equal(ended, false);
});
