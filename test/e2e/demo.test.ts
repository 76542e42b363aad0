import assert from 'node:assert/strict';
import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readdir } from 'node:fs/promises';
import { createServer } from 'node:net';
import { test, type TestContext } from 'node:test';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { freePort } from '../helpers/free-port.ts';
import { listen } from '../helpers/listen.ts';
import { until } from '../helpers/poll.ts';
import { tempFolder } from '../helpers/temp-folder.ts';

const run = promisify(execFile);
const demo = fileURLToPath(new URL('../../examples/demo.ts', import.meta.url));
const options = ['--port', '--admin-port', '--upstream-port'] as const;
const anyPorts = options.flatMap((option) => [option, '0']);

/** What the demo prints can be pasted, and what it promises is what it does. */
async function tryCalls(t: TestContext, output: () => string): Promise<void> {
  const calls = output()
    .split('\n')
    .filter((line) => line.includes('curl -i '));
  const folder = tempFolder(t);
  const answers = await Promise.all(calls.map((call) => run('sh', ['-c', call], { cwd: folder })));
  const statuses = answers.map(({ stdout }) => Number(/^HTTP\/1\.1 (\d{3})/.exec(stdout)?.[1]));
  assert.deepEqual(statuses, [200, 401, 400, 200, 415]);
  assert.match(answers[0]?.stdout ?? '', /"guess":"female"/);
  assert.match(answers[1]?.stdout ?? '', /\{"error":"API key is required"\}/);
  assert.match(answers[3]?.stdout ?? '', /"fundamentalHz":200,/);
  assert.match(answers[4]?.stdout ?? '', /\{"error":"file must be one of audio\/wav, audio\/mpeg/);
  const [, console, token] = /^Console +(\S+) with the token (\S+)$/m.exec(output()) ?? [];
  assert.match(await (await fetch(`${console}`)).text(), /<title>Gatehouse<\/title>/);
  const asked = await fetch(`${console}v1/keys`, { headers: { authorization: `Bearer ${token}` } });
  assert.equal(asked.status, 200);
}

for (const signal of ['SIGINT', 'SIGHUP'] as const) {
  const works = signal === 'SIGINT' ? 'prints calls that can be pasted and do what they promise, and ' : '';
  test(`the demo ${works}stops cleanly on ${signal} and leaves nothing running`, async (t) => {
    const folder = tempFolder(t);
    const chosen = signal === 'SIGINT' ? await Promise.all(options.map(freePort)) : undefined;
    const args = chosen?.flatMap((port, at) => [options[at]!, String(port)]) ?? anyPorts;
    const { child, output, ready, exitCode } = startDemo(t, args, { TMPDIR: folder });
    await ready();
    const urls = output().match(/http:\/\/127\.0\.0\.1:\d+(?=\/?\s)/g) ?? [];
    assert.equal(urls.length, 3);
    if (chosen !== undefined)
      assert.deepEqual(
        urls.map((url) => Number(new URL(url).port)),
        chosen,
      );
    if (works !== '') await tryCalls(t, output);
    // A terminal that is closed takes nothing any more.
    if (signal === 'SIGHUP') for (const stream of [child.stdout, child.stderr]) stream.destroy();
    child.kill(signal);
    // As some npm versions do: they hand on what the terminal has sent already.
    child.kill(signal);
    assert.equal(await exitCode(), 0);
    assert.doesNotMatch(output(), /^ +at /m);
    for (const url of urls)
      await assert.rejects(fetch(url), (error: Error) => /ECONNREFUSED/.test(String(error.cause)));
    assert.deepEqual(await readdir(folder), []);
  });
}

test('the demo that is stopped while it starts starts nothing more, and leaves nothing running', async (t) => {
  const folder = tempFolder(t);
  const neverReady = `if(process.argv[1].endsWith('server.ts'))Atomics.wait(new(Int32Array)(new(SharedArrayBuffer)(4)),0,0)`;
  const { child, output, exitCode } = startDemo(t, anyPorts, {
    TMPDIR: folder,
    NODE_OPTIONS: `--import=data:text/javascript,${neverReady}`,
  });
  await until(() => output() !== '');
  child.kill('SIGTERM');
  assert.equal(await exitCode(), 0);
  assert.equal(output(), 'Starting the example upstream …\n');
  assert.deepEqual(await readdir(folder), []);
});

// The gateway says of both of its ports alike what is wrong with them.
for (const option of ['--port', '--upstream-port']) {
  test(`a busy ${option} ends the demo with one clear line, which says how to take free ones`, async (t) => {
    const busy = await takePort(t);
    const { errors, exitCode } = startDemo(t, [...anyPorts, option, busy]);
    assert.equal(await exitCode(), 1);
    const [, cure = ''] =
      new RegExp(
        `^demo: the .* cannot listen on 127\\.0\\.0\\.1:${busy}\\b.*: another process uses it, for free ports say: npm run demo -- (.*)\n$`,
      ).exec(errors()) ?? [];
    assert.deepEqual(cure.split(' '), anyPorts);
  });
}

for (const args of [
  ['--port', 'x'],
  ['--port', '70000'],
  ['--prot', '1'],
]) {
  test(`the demo refuses ${args.join(' ')} with one line`, async (t) => {
    const { errors, exitCode } = startDemo(t, args);
    assert.equal(await exitCode(), 1);
    assert.match(errors(), /^demo: .*\n$/);
  });
}

test('the demo explains itself', async () => {
  const { stdout } = await run(process.execPath, [demo, '--help']);
  for (const option of options) assert.ok(stdout.includes(option));
});

function startDemo(t: TestContext, args: readonly string[], env: NodeJS.ProcessEnv = {}) {
  const child = spawn(process.execPath, [demo, ...args], {
    env: { ...process.env, ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let stdout = '';
  let stderr = '';
  child.stdout.on('data', (chunk: Buffer) => (stdout += chunk.toString()));
  child.stderr.on('data', (chunk: Buffer) => (stderr += chunk.toString()));
  const closed = once(child, 'close');
  t.after(async () => {
    // SIGTERM and not SIGKILL: the demo takes what it started with it.
    child.kill('SIGTERM');
    await closed;
  });
  return {
    child,
    output: () => stdout + stderr,
    errors: () => stderr,
    ready: async (): Promise<void> => {
      await until(() => stdout.includes('Ctrl-C') || child.exitCode !== null, {
        what: 'the demo is ready',
      });
      assert.equal(child.exitCode, null, `the demo ended: ${stderr}`);
    },
    exitCode: async (): Promise<number | null> => {
      const [code] = (await closed) as [number | null];
      return code;
    },
  };
}

async function takePort(t: TestContext): Promise<string> {
  return String(await listen(t, createServer()));
}
