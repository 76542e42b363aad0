import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { test } from 'node:test';
import { drainPatienceMs } from '../../../src/commands/lifecycle.ts';
import type { Config } from '../../../src/config/config.ts';

const lifecycle = new URL('../../../src/commands/lifecycle.ts', import.meta.url).href;
const log = new URL('../../../src/telemetry/log.ts', import.meta.url).href;

test('faults that come together are all in the log, and the process ends with the code for them', () => {
  const program = `
    const { watchForFaults } = await import(${JSON.stringify(lifecycle)});
    const { createLog } = await import(${JSON.stringify(log)});
    watchForFaults(await createLog('info', 'json'));
    process.nextTick(() => { throw new Error('thrown'); });
    for (const name of ['first', 'second']) void Promise.reject(new Error(name));
    void Promise.reject('a text of somebody else');
    setInterval(() => {}, 1000);
  `;
  const ended = spawnSync(process.execPath, ['--input-type=module', '--eval', program], {
    encoding: 'utf8',
    timeout: 60_000,
  });
  const lines = ended.stdout.trim().split('\n');
  const told = lines.map((line) => (JSON.parse(line) as { cause: { message: string } }).cause.message);
  assert.deepEqual(told, ['thrown', 'first', 'second', 'not an error']);
  assert.equal(ended.stderr, '');
  assert.equal(ended.status, 70);
});

test('a worker may take its delay, its time and a little more from the word to drain to its end', () => {
  const drain = { delayMs: 2000, timeoutMs: 30_000 };
  const patience = drainPatienceMs({ drain } as unknown as Config) - 32_000;
  assert.ok(patience > 0 && patience <= 10_000, `${patience} ms`);
});
