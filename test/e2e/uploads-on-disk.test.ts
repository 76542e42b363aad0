import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import type { TestContext } from 'node:test';
import { keysOf, secretOf } from '../helpers/quota-scene.ts';
import { openRaw, requestBytes } from '../helpers/raw-socket.ts';
import { startRecordingUpstream } from '../helpers/recording-upstream.ts';
import { wav } from '../helpers/sample-files.ts';
import { startGateway } from '../helpers/start-gateway.ts';

/** Large enough to wait on disk. */
const file = wav(4_000_000);
/** What goes wrong now and then is to be seen. */
const turns = 20;

const scene = { after };
const failing = await startRecordingUpstream(scene, (_request, res) =>
  res.writeHead(500, { 'content-length': 2 }).end('no'),
);
const body = { file: { maxSize: '10MB', types: ['audio/wav'] } };
const gateway = await startGateway(scene, {
  plans: {
    place: { concurrency: 1 },
    unit: { quotas: [{ name: 'life', limit: 1, per: 'lifetime' }] },
  },
  keys: ['place', 'unit'].flatMap((plan) => keysOf(plan, plan)),
  upstreams: { recognition: { targets: [failing.url] } },
  routes: [
    { path: '/v1/up', methods: ['PUT'], body },
    { path: '/v1/get', methods: ['GET'] },
  ],
});

for (const key of ['place', 'unit']) {
  test(`who has read the answer to an upload has the ${key} back that it took`, async (t) => {
    for (let turn = 0; turn < turns; turn += 1) {
      const upload = requestBytes('PUT /v1/up', headersOf(key), file);
      assert.deepEqual(await askTwice(t, upload, requestBytes('GET /v1/get', headersOf(key))), [500, 500]);
    }
  });
}

function headersOf(key: string): [string, string][] {
  return [
    ['apiKey', secretOf(key)],
    ['Content-Type', 'audio/wav'],
  ];
}

/** The statuses of two requests on one connection, of which the second leaves as soon as the first answer is whole. */
async function askTwice(t: TestContext, first: Buffer, second: Buffer): Promise<number[]> {
  const client = await openRaw(t, gateway.port);
  client.socket.on('data', function askOn() {
    if (!client.received().toString('latin1').endsWith('\r\n\r\nno')) return;
    client.socket.off('data', askOn);
    client.write(second);
  });
  client.write(first);
  const answers = await client.responses(2);
  client.socket.destroy();
  return answers.map(({ status }) => status);
}
