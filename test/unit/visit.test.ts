import assert from 'node:assert/strict';
import { createServer, type ServerResponse } from 'node:http';
import { test } from 'node:test';
import { statusOf, Visit } from '../../src/visit.ts';
import { breakOff } from '../../src/wire/break-off.ts';
import { listen } from '../helpers/listen.ts';
import { until } from '../helpers/poll.ts';
import { openRaw, requestBytes } from '../helpers/raw-socket.ts';

test('what was ready behind an answer that we cut was not sent, and is told so', async (t) => {
  const answers: ServerResponse[] = [];
  const told = new Map<ServerResponse, number>();
  const server = createServer((req, res) => {
    req.visit = new Visit('id', { peer: '', client: '', trusted: false });
    res.on('close', () => told.set(res, statusOf(req.visit, res)));
    answers.push(res);
  });
  const client = await openRaw(t, await listen(t, server));
  client.write(Buffer.concat([requestBytes('GET /'), requestBytes('GET /')]));
  const [ahead, behind] = await until(() => (answers.length === 2 ? answers : undefined));
  ahead?.write('half');
  behind?.end('ready');
  await client.receivedUntil((bytes) => bytes.includes('half'));
  for (const res of answers) {
    res.req.visit.cut = 'gateway';
    res.destroy();
  }
  await until(() => told.size === 2);
  assert.deepEqual(
    answers.map((res) => told.get(res)),
    [200, 503],
  );
});

test('what we broke off ourselves was sent in part, and is told with the status that its client has', async (t) => {
  let told: number | undefined;
  const server = createServer((req, res) => {
    req.visit = new Visit('id', { peer: '', client: '', trusted: false });
    req.visit.cut = 'gateway';
    res.on('close', () => (told = statusOf(req.visit, res)));
    res.write('half');
    breakOff(res);
  });
  const client = await openRaw(t, await listen(t, server));
  client.write(requestBytes('GET /'));
  await client.receivedUntilClose();
  assert.ok(client.received().includes('half'));
  assert.equal(await until(() => told), 200);
});
