import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { test } from 'node:test';

const watch = new URL('../../../src/commands/watch-for-faults.ts', import.meta.url).href;
const endAtOnce = new URL('../../../src/commands/end-at-fault.ts', import.meta.url).href;
const log = new URL('../../../src/telemetry/log.ts', import.meta.url).href;

test('faults that come together are all in the log, and the process ends with the code for them', () => {
  const program = `
    const { endAtFault } = await import(${JSON.stringify(endAtOnce)});
    for (const fault of ['uncaughtException', 'unhandledRejection']) process.on(fault, endAtFault);
    const { watchForFaults } = await import(${JSON.stringify(watch)});
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
