import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import { connect } from 'node:net';
import { text } from 'node:stream/consumers';
import { test } from 'node:test';
import { createApp } from '../../src/app.ts';
import { originFinder } from '../../src/client-address.ts';
import { createLogger } from '../../src/log.ts';
import { createMetrics } from '../../src/metrics.ts';
import { listen } from '../helpers/listen.ts';

test('a request that cannot even be refused ends its connection, and only the log tells why', async (t) => {
  const lines: string[] = [];
  const logger = createLogger('info', { write: (line) => void lines.push(line) });
  const { handle, messages } = createApp({
    travel: async () => {
      throw new Error('secret words');
    },
    findOrigin: originFinder([]),
    logger,
    metrics: createMetrics(),
    withhold: String,
  });
  const socket = connect(await listen(t, createServer(messages, handle)), '127.0.0.1');
  socket.write('GET / HTTP/1.1\r\nHost: a\r\n\r\n');
  assert.equal(await text(socket), '');
  assert.match(lines.join(''), /"level":"error".*"status":500,"refusal":"internal".*secret words/);
});
