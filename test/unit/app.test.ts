import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import { connect } from 'node:net';
import { text } from 'node:stream/consumers';
import { test } from 'node:test';
import { createApp } from '../../src/app.ts';
import { createLogger } from '../../src/telemetry/log.ts';
import { createMetrics } from '../../src/telemetry/metrics.ts';
import { createOriginFinder } from '../../src/wire/client-address.ts';
import { holdUp } from '../helpers/hold-up.ts';
import { listen } from '../helpers/listen.ts';
import { until } from '../helpers/poll.ts';

const fails = (): never => {
  throw new Error('secret words');
};

for (const [name, how] of [
  ['travels', { travel: async () => fails() }],
  ['fails before it travels', { travel: fails }],
] as const) {
  test(`a request that cannot even be refused as it ${name} ends its connection, and only the log tells why`, async (t) => {
    const lines: string[] = [];
    const logger = createLogger('info', { write: (line) => void lines.push(line) });
    const { handle, messageClasses } = createApp({
      ...how,
      findOrigin: createOriginFinder([]),
      logger,
      metrics: createMetrics(),
      withhold: String,
    });
    const socket = connect(await listen(t, createServer(messageClasses, handle)), '127.0.0.1');
    socket.write('GET / HTTP/1.1\r\nHost: a\r\n\r\n');
    assert.equal(await text(socket), '');
    assert.match(lines.join(''), /"level":"error".*"status":500,"refusal":"internal".*secret words/);
  });
}

test('a fault before anything is known of a request ends its connection and nothing else', async (t) => {
  const { handle, messageClasses } = createApp({
    travel: async () => undefined,
    findOrigin: fails,
    logger: createLogger('info', { write: assert.fail }),
    metrics: createMetrics(),
    withhold: String,
  });
  const port = await listen(t, createServer(messageClasses, handle));
  for (let turn = 0; turn < 2; turn += 1) {
    const socket = connect(port, '127.0.0.1');
    socket.write('GET / HTTP/1.1\r\nHost: a\r\n\r\n');
    assert.equal(await text(socket), '');
  }
});

test('a fault of a request whose connection cannot even be reset ends that connection and nothing else', async (t) => {
  const { handle, messageClasses } = createApp({
    travel: async (req) => {
      t.mock.method(req.socket, 'resetAndDestroy', fails);
      fails();
    },
    findOrigin: createOriginFinder([]),
    logger: createLogger('info', { write: () => undefined }),
    metrics: createMetrics(),
    withhold: String,
  });
  const socket = connect(await listen(t, createServer(messageClasses, handle)), '127.0.0.1');
  socket.write('GET / HTTP/1.0\r\nHost: a\r\n\r\n');
  assert.equal(await text(socket), '');
});

test('the log and the metrics tell the same of how long a request took, however long a line takes to write', async (t) => {
  const lines: string[] = [];
  const write = (line: string): void => {
    lines.push(line);
    holdUp(20);
  };
  const metrics = createMetrics();
  const { handle, messageClasses } = createApp({
    travel: async (_, res) => void res.end('answered'),
    findOrigin: createOriginFinder([]),
    logger: createLogger('info', { write }),
    metrics,
    withhold: String,
  });
  const socket = connect(await listen(t, createServer(messageClasses, handle)), '127.0.0.1');
  socket.write('GET / HTTP/1.0\r\nHost: a\r\n\r\n');
  await text(socket);
  const seconds = await until(async () =>
    /^gatehouse_request_duration_seconds_sum\{route="none"\} (.+)$/m
      .exec(await metrics.registry.metrics())
      ?.at(1),
  );
  const { ms } = JSON.parse(lines.join('')) as { ms: number };
  assert.equal(ms, Math.round(Number(seconds) * 100_000) / 100);
});
