import assert from 'node:assert/strict';
import { test } from 'node:test';
import { startRecordingUpstream } from '../helpers/recording-upstream.ts';
import { demoKey, startGateway } from '../helpers/start-gateway.ts';

/** The system as it is: it answers two questions about names at a time, and for silent.test its resolver says nothing. */
const system = `
import dns from 'node:dns';
import { syncBuiltinESMExports } from 'node:module';
const { lookup } = dns;
let atWork = 0;
const inLine = [];
function next() {
  if (atWork === 2 || inLine.length === 0) return;
  atWork += 1;
  const [host, options, callback] = inLine.shift();
  if (host === 'silent.test') return;
  lookup(host, options, (...answer) => {
    atWork -= 1;
    callback(...answer);
    next();
  });
}
dns.lookup = (...question) => {
  inLine.push(question);
  next();
};
syncBuiltinESMExports();
`;

test('a name whose resolver is silent keeps no other upstream from being reached, by whatever way', async (t) => {
  const upstream = await startRecordingUpstream(t);
  const timeouts = { connect: '200ms' };
  const gateway = await startGateway(
    t,
    {
      upstreams: {
        recognition: { targets: [`http://localhost:${upstream.port}`], timeouts: { connect: '5s' } },
        silent: { targets: ['http://silent.test'], timeouts },
        secret: { targets: ['https://silent.test'], timeouts },
      },
      routes: ['recognition', 'silent', 'secret'].map((name) => ({
        path: `/v1/${name}`,
        methods: ['POST'],
        upstream: name,
        body: { any: { maxSize: '1MB' } },
      })),
    },
    { env: { NODE_OPTIONS: `--import data:text/javascript,${encodeURIComponent(system)}` } },
  );
  const call = async (name: string, bytes: number): Promise<number> => {
    const answer = await fetch(`${gateway.url}/v1/${name}`, {
      method: 'POST',
      headers: { apiKey: demoKey, 'Content-Type': 'text/plain' },
      body: 'x'.repeat(bytes),
    });
    await answer.text();
    return answer.status;
  };
  // Up to 64 KB a body leaves by the buffered lane, beyond that by the streamed one.
  const sizes = [1, 100_000];
  const silent = ['silent', 'secret'].flatMap((name) => sizes.map((bytes) => call(name, bytes)));
  assert.deepEqual(await Promise.all(silent), [504, 504, 504, 504]);
  assert.deepEqual(await Promise.all(sizes.map((bytes) => call('recognition', bytes))), [200, 200]);
  const ready = await fetch(`${gateway.adminUrl}/readyz`);
  assert.equal(ready.status, 200);
});
