import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import { createServer as createTcpServer } from 'node:net';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { test, type TestContext } from 'node:test';
import { stringify } from 'yaml';
import type { Config } from '../../../src/config/config.ts';
import { loadConfig } from '../../../src/config/load-config.ts';
import { startGateway } from '../../../src/gateway/gateway.ts';
import { createLogger } from '../../../src/telemetry/log.ts';
import { collectGarbage } from '../../helpers/collect-garbage.ts';
import { writeTemporary } from '../../helpers/config-file.ts';
import { listen } from '../../helpers/listen.ts';
import { until } from '../../helpers/poll.ts';
import { exchange, requestBytes } from '../../helpers/raw-socket.ts';
import { baseConfig, demoKey, overlay, type Yaml } from '../../helpers/start-gateway.ts';
import { tempFolder } from '../../helpers/temp-folder.ts';
import { settle } from '../../helpers/turnable-clock.ts';

const logger = createLogger('silent', { write: () => undefined });
const read = (t: TestContext, yaml: Yaml): Config => loadConfig(writeTemporary(t, stringify(yaml)), {});

test('a configuration that is in force no more is not kept, whatever was taken over from it', async (t) => {
  const folder = tempFolder(t);
  const store = `sqlite:${join(folder, 'g.db')}`;
  const configWith = (connections: number): Config => {
    const upstreams = { recognition: { connections }, other: { targets: ['http://127.0.0.1:9'] } };
    const yaml = overlay(baseConfig('http://127.0.0.1:9', folder), { store, upstreams });
    return read(t, yaml);
  };
  const gateway = await startGateway(configWith(1), logger);
  t.after(() => gateway.drain());
  const gone = [2, 3].map((connections) => {
    const config = configWith(connections);
    gateway.reload(config);
    return new WeakRef(config.routes);
  });
  gateway.reload(configWith(4));
  await until(() => {
    collectGarbage();
    return gone.every((routes) => routes.deref() === undefined);
  });
});

test('a reload ends the connections to an upstream that has changed, and keeps those to the others', async (t) => {
  const folder = tempFolder(t);
  const [changing, staying] = [await startCounting(t), await startCounting(t)];
  const configWith = (connections: number): Config => {
    const yaml = overlay(baseConfig(changing.url, folder), {
      store: `sqlite:${join(folder, 'g.db')}`,
      upstreams: { recognition: { connections }, other: { targets: [staying.url] } },
      routes: ['recognition', 'other'].map((upstream) => ({
        path: `/v1/${upstream}`,
        methods: ['GET'],
        body: 'none',
        upstream,
      })),
    });
    return read(t, yaml);
  };
  const gateway = await startGateway(configWith(1), logger);
  t.after(() => gateway.drain());
  const call = async (upstream: string): Promise<void> => {
    const request = requestBytes(`GET /v1/${upstream}`, [['apiKey', demoKey]]);
    assert.equal((await exchange(t, gateway.listen.port, request)).status, 200);
  };
  await call('recognition');
  await call('other');
  assert.deepEqual([changing.open(), staying.open()], [1, 1]);
  gateway.reload(configWith(2));
  await until(() => changing.open() === 0);
  await call('other');
  assert.deepEqual([staying.open(), staying.ever()], [1, 1]);
});

test('a gateway that cannot listen leaves no connection to its store', async (t) => {
  let open = 0;
  const store = createTcpServer((socket) => {
    open += 1;
    socket.on('close', () => (open -= 1)).resume();
  });
  const taken = await startCounting(t);
  const yaml = overlay(baseConfig('http://127.0.0.1:9', tempFolder(t)), {
    store: `redis://127.0.0.1:${await listen(t, store)}`,
    listen: new URL(taken.url).host,
  });
  await assert.rejects(startGateway(read(t, yaml), logger), {
    code: 'EADDRINUSE',
  });
  await until(() => open === 0);
});

test('a gateway that stops closes its store only when the change that an operator has asked for is done', async (t) => {
  const folder = tempFolder(t);
  const file = join(folder, 'g.db');
  const token = 'an-admin-token-of-enough-letters';
  const yaml = overlay(baseConfig('http://127.0.0.1:9', folder), {
    store: `sqlite:${file}`,
    storeDeadline: '5s',
    admin: { token },
  });
  const gateway = await startGateway(read(t, yaml), logger);
  const other = new DatabaseSync(file);
  t.after(() => other.close());
  other.exec('BEGIN IMMEDIATE');
  const request = requestBytes(
    'POST /v1/keys',
    [
      ['Host', 'localhost'],
      ['Authorization', `Bearer ${token}`],
      ['Content-Type', 'application/json'],
    ],
    '{"plan":"free"}',
  );
  const changing = exchange(t, gateway.admin.port, request);
  const probe = requestBytes('GET /livez', [['Host', 'localhost']]);
  for (let turn = 0; turn < 5; turn += 1) await exchange(t, gateway.admin.port, probe);
  const drained = gateway.drain();
  await until(() =>
    exchange(t, gateway.listen.port, probe).then(
      () => false,
      () => true,
    ),
  );
  // Time enough to close a store that nobody waits for.
  for (let turn = 0; turn < 50; turn += 1) await settle();
  other.exec('ROLLBACK');
  assert.equal((await changing).status, 201);
  await drained;
});

test('a gateway that owes its store nothing says of no loss when it stops', async (t) => {
  const lines: string[] = [];
  const listening = createLogger('error', { write: (line) => void lines.push(line) });
  const folder = tempFolder(t);
  const yaml = overlay(baseConfig('http://127.0.0.1:9', folder), { store: `sqlite:${join(folder, 'g.db')}` });
  const gateway = await startGateway(read(t, yaml), listening);
  await gateway.drain();
  assert.deepEqual(lines, []);
});

/** An upstream that counts its connections. */
async function startCounting(t: TestContext) {
  let [open, ever] = [0, 0];
  const server = createServer({ keepAliveTimeout: 60_000 }, (_, res) => void res.end('ok'));
  server.on('connection', (socket) => {
    open += 1;
    ever += 1;
    socket.on('close', () => (open -= 1));
  });
  return { url: `http://127.0.0.1:${await listen(t, server)}`, open: () => open, ever: () => ever };
}
