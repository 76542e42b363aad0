import assert from 'node:assert/strict';
import { execFileSync, spawn } from 'node:child_process';
import { closeSync, constants, openSync, writeSync } from 'node:fs';
import { Socket } from 'node:net';
import { join } from 'node:path';
import { buffer } from 'node:stream/consumers';
import { test, type TestContext } from 'node:test';
import { setImmediate as endOfTurn } from 'node:timers/promises';
import { openStandardOutput } from '../../../src/telemetry/standard-output.ts';
import { until } from '../../helpers/poll.ts';
import { tempFolder } from '../../helpers/temp-folder.ts';

const module = new URL('../../../src/telemetry/standard-output.ts', import.meta.url).href;

/** Writes the pieces while nobody reads, says so, and ends once they are out, which it has all the patience for. */
const writer = (pieces: number): string => `
const { setTimeout } = globalThis;
globalThis.setTimeout = (call, ms) => setTimeout(call, ms < 1000 ? ms : 1_000_000);
import { openStandardOutput } from ${JSON.stringify(module)};
const out = openStandardOutput();
for (let nth = 0; nth < ${pieces}; nth += 1) out.write(Buffer.alloc(64 * 1024, (nth % 10) + '\\n'));
process.stderr.write(\`lost: \${out.lostLines() / (32 * 1024)}\`);
await out.flush();
await out.flush();
process.exit();
`;

for (const { what, pieces, kept, lost } of [
  { what: 'all that waited for it', pieces: 64, kept: 64, lost: 0 },
  { what: 'the first 8 MB of what waited for it', pieces: 136, kept: 128, lost: 8 },
])
  test(`a reader that had paused gets ${what}`, async (t) => {
    const fifo = join(tempFolder(t), 'stdout');
    execFileSync('mkfifo', [fifo]);
    const reader = openSync(fifo, constants.O_RDONLY | constants.O_NONBLOCK);
    const end = openSync(fifo, constants.O_WRONLY);
    const child = spawn(process.execPath, ['--input-type=module', '--eval', writer(pieces)], {
      stdio: ['ignore', end, 'pipe'],
    });
    t.after(() => void child.kill('SIGKILL'));
    closeSync(end);
    let said = '';
    child.stderr?.on('data', (chunk: Buffer) => (said += chunk.toString()));
    await until(() => said === `lost: ${lost}`);

    const text = await buffer(new Socket({ fd: reader, writable: false }));
    const expected = Array.from({ length: kept }, (_, nth) => Buffer.alloc(64 * 1024, `${nth % 10}\n`));
    assert.ok(text.equals(Buffer.concat(expected)));
    assert.equal(said, `lost: ${lost}`);
  });

/** A pipe of which the test is both ends. */
function makePipe(t: TestContext): { readonly reader: number; readonly fd: number } {
  const fifo = join(tempFolder(t), 'stdout');
  execFileSync('mkfifo', [fifo]);
  const reader = openSync(fifo, constants.O_RDONLY | constants.O_NONBLOCK);
  return { reader, fd: openSync(fifo, constants.O_WRONLY | constants.O_NONBLOCK) };
}

/** Time stands still for it. */
function openOn(t: TestContext, fd: number): ReturnType<typeof openStandardOutput> {
  const stdout = t.mock.getter(process, 'stdout', () => ({ fd }));
  const out = openStandardOutput();
  stdout.mock.restore();
  t.mock.timers.enable({ apis: ['setTimeout'] });
  return out;
}

const piece = Buffer.alloc(4096, 'x');

test('the end does not wait for a pipe whose reader has gone', { timeout: 60_000 }, async (t) => {
  const { reader, fd } = makePipe(t);
  closeSync(reader);
  const out = openOn(t, fd);
  out.write(piece);
  for (let ends = 0; ends < 2; ends += 1) await out.flush();
});

test('the end waits a second for a pipe that takes nothing', async (t) => {
  const { reader, fd } = makePipe(t);
  // Without a reader it is tried no more.
  t.after(() => closeSync(reader));
  assert.throws(
    () => {
      for (;;) writeSync(fd, piece);
    },
    { code: 'EAGAIN' },
  );
  const out = openOn(t, fd);
  out.write(piece);
  let ended = false;
  void out.flush().then(() => (ended = true));
  for (const [ms, isOver] of [
    [999, false],
    [1, true],
  ] as const) {
    t.mock.timers.tick(ms);
    await endOfTurn();
    assert.equal(ended, isOver);
  }
});
