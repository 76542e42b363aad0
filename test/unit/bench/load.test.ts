import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import { test } from 'node:test';
import { CannotRun } from '../../../bench/cannot-run.ts';
import { checkAnswers, type Request } from '../../../bench/load.ts';
import { listen } from '../../helpers/listen.ts';

function post(path: string, status: number): Request {
  return { method: 'POST', path, headers: {}, body: () => '{}', status };
}

test('a load is not put on what answers one of its requests in another way', async (t) => {
  const server = createServer((req, res) => {
    if (req.url === '/broken') req.socket.destroy();
    else res.writeHead(req.url === '/refused' ? 401 : 200).end();
  });
  const port = await listen(t, server);
  await checkAnswers({ requests: [post('/', 200), post('/refused', 401)] }, port);
  const wrong = (path: string, status: number): Promise<void> =>
    checkAnswers({ requests: [post('/', 200), post(path, status)] }, port);
  await assert.rejects(wrong('/', 429), new CannotRun('POST / was answered 200, not 429'));
  await assert.rejects(wrong('/broken', 200), CannotRun);
});
