import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { CannotRun } from '../../../bench/cannot-run.ts';
import { cores, root } from '../../../bench/machine.ts';
import { runToEnd, spawnHere, start, whyEnded } from '../../../bench/processes.ts';
import { until } from '../../helpers/poll.ts';
import { tempFolder } from '../../helpers/temp-folder.ts';

const processes = new URL('../../../bench/processes.ts', import.meta.url).href;

test('a program that is run to its end is told by its exit code and what it complained of', async () => {
  const complain = ['-c', 'echo no key >&2; exit 3'];
  assert.deepEqual(await runToEnd('sh', complain, {}), { status: 3, stderr: 'no key\n' });
  assert.deepEqual(await runToEnd('sh', ['-c', 'kill -9 $$'], {}), { status: null, stderr: '' });
});

test('why a program ended is told by the error in its log, or the signal, or its last line', async (t) => {
  const log = join(tempFolder(t), 'log');
  const ended = async (command: string, ...lines: string[]): Promise<string> => {
    writeFileSync(log, lines.map((line) => `${line}\n`).join(''));
    const child = spawnHere('sh', ['-c', command], { stdio: 'ignore' });
    await once(child, 'exit');
    return whyEnded(child, log);
  };
  const access = '{"status":200}';
  assert.equal(
    await ended('exit 1', access, "  throw er; // Unhandled 'error' event", 'Error: no key', access),
    'Error: no key',
  );
  assert.equal(
    await ended('kill -6 $$', access, 'FATAL ERROR: heap limit', '1: 0x1'),
    'FATAL ERROR: heap limit',
  );
  assert.equal(await ended('kill -9 $$', access), 'killed by SIGKILL');
  assert.equal(await ended('exit 1', access, 'usage: it'), 'usage: it');
  const mistake = '/tmp/a/gateway-8080.yaml:2:6: listem: unknown option';
  assert.equal(await ended('exit 1', mistake, 'gatehouse: the configuration is not valid'), mistake);
  assert.equal(await ended('exit 1', `Error: no ${root}bench/key`), 'Error: no bench/key');
  assert.equal(await ended('exit 1'), 'it said nothing');
});

test('a server that does not start is told by its name, not by where it is on this machine', async (t) => {
  const log = join(tempFolder(t), 'log');
  const ended = { command: process.execPath, args: ['--eval', 'throw new Error("no port")'], log };
  const message = 'node did not start: Error: no port';
  await assert.rejects(start({ ...ended, cores: cores.all, port: 1 }), new CannotRun(message));
});

for (const [signal, code] of [
  ['SIGTERM', 143],
  ['SIGKILL', null],
] as const)
  test(`${signal} ends a bench that waits for a program at once, and the program with it`, async (t) => {
    const file = join(tempFolder(t), 'pid');
    const program = ['-c', 'echo $$ > "$0.new" && mv "$0.new" "$0" && exec sleep 600', file];
    const waiting = `import { runToEnd, spawnHere, whyEnded } from '${processes}'; await runToEnd('sh', ${JSON.stringify(program)}, {});`;
    const bench = spawn(process.execPath, ['--input-type=module', '-e', waiting], { stdio: 'inherit' });
    t.after(() => bench.kill('SIGKILL'));
    await until(() => existsSync(file));
    bench.kill(signal);
    assert.deepEqual(await once(bench, 'exit'), [code, code === null ? signal : null]);
    const pid = readFileSync(file, 'utf8').trim();
    await until(() => !isAlive(pid));
  });

test('what a program leaves behind when it ends is ended, too', async (t) => {
  const file = join(tempFolder(t), 'pid');
  await runToEnd('sh', ['-c', 'sleep 600 2> /dev/null & echo $! > "$0"', file], {});
  const pid = readFileSync(file, 'utf8').trim();
  await until(() => !isAlive(pid));
});

function isAlive(pid: string): boolean {
  try {
    return !readFileSync(`/proc/${pid}/stat`, 'utf8').includes(') Z ');
  } catch {
    return false;
  }
}
