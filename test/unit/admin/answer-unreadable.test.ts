import assert from 'node:assert/strict';
import { createServer } from 'node:net';
import { test } from 'node:test';
import { answerUnreadable } from '../../../src/admin/answer-unreadable.ts';
import { listen } from '../../helpers/listen.ts';
import { openRaw } from '../../helpers/raw-socket.ts';

const late = Object.assign(new Error('late'), { code: 'ERR_HTTP_REQUEST_TIMEOUT' });

for (const { sent, answers } of [
  { sent: 'GET /livez HTTP/1.1\r\n', answers: [[400, 'The request took too long to arrive']] },
  { sent: '', answers: [] },
]) {
  test(`who has been too slow is told, unless nothing was asked: ${JSON.stringify(sent)}`, async (t) => {
    const server = createServer((socket) => {
      const answer = () => answerUnreadable(late, socket, { unanswered: new Set(), latest: undefined });
      if (sent === '') answer();
      else socket.once('data', answer);
    });
    const client = await openRaw(t, await listen(t, server));
    client.write(sent);
    await client.receivedUntilClose();
    const received = await client.responses();
    const told = received.map(({ status, text }) => [status, (JSON.parse(text) as { error: string }).error]);
    assert.deepEqual(told, answers);
  });
}
