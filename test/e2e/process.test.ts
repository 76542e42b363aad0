import assert from 'node:assert/strict';
import { execFileSync, spawn, spawnSync, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, constants, openSync, readdirSync, readFileSync, readSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { join, relative } from 'node:path';
import { after, describe, test, type TestContext } from 'node:test';
import { fileURLToPath } from 'node:url';
import { stringify } from 'yaml';
import { launch } from '../../src/commands/relaunch.ts';
import { openStore } from '../../src/stores/open-store.ts';
import { commandHere } from '../helpers/command-here.ts';
import { freePort } from '../helpers/free-port.ts';
import { listen } from '../helpers/listen.ts';
import { until } from '../helpers/poll.ts';
import { exchange, openRaw, requestBytes } from '../helpers/raw-socket.ts';
import { startRecordingUpstream } from '../helpers/recording-upstream.ts';
import { main, runOf, type CliRun } from '../helpers/run-cli.ts';
import { sql } from '../helpers/sqlite-file.ts';
import { baseConfig, demoKey, namePath, overlay, type Yaml } from '../helpers/start-gateway.ts';
import { tempFolder } from '../helpers/temp-folder.ts';

const root = fileURLToPath(new URL('../../', import.meta.url));
const scene = { after };
const upstream = await startRecordingUpstream(scene);
const busyPort = await listen(scene, createServer());
const folder = tempFolder(scene);
// Who makes it would say so.
await (await openStore({ kind: 'sqlite', path: join(folder, 'gatehouse.db') })).close();
const name = requestBytes(
  `POST ${namePath}`,
  [
    ['apiKey', demoKey],
    ['Content-Type', 'application/json'],
  ],
  '{"firstName":"A","lastName":"B"}',
);

function run(args: readonly string[], env: Record<string, string> = {}): Promise<CliRun> {
  return ending(spawn(process.execPath, [main, ...args], { cwd: folder, env: { ...process.env, ...env } }));
}

function ending(child: ChildProcess): Promise<CliRun> {
  after(() => void child.kill('SIGKILL'));
  return runOf(child);
}

let files = 0;
function write(config: Yaml | string): string {
  const file = join(folder, `gateway-${(files += 1)}.yaml`);
  writeFileSync(file, typeof config === 'string' ? config : stringify(config));
  return file;
}
const configured = (over: Yaml): string => write(overlay(baseConfig(upstream.url, folder), over));

const notDatabase = join(folder, 'notes.txt');
writeFileSync(notDatabase, 'These are notes, and not a database at all.\n'.repeat(200));

const locked = join(folder, 'locked.db');
const locker = sql(locked, 'PRAGMA locking_mode = EXCLUSIVE; BEGIN EXCLUSIVE');
after(() => locker.close());

describe('a start that fails, or is not one', { concurrency: 3 }, () => {
  for (const { title, config, code, line } of [
    {
      title: 'a port in use',
      config: { listen: `127.0.0.1:${busyPort}` },
      code: 69,
      line: /127\.0\.0\.1:\d+ \(listen\): another process uses it/,
    },
    {
      title: 'an admin port in use',
      config: { admin: { listen: `127.0.0.1:${busyPort}` } },
      code: 69,
      line: /127\.0\.0\.1:\d+ \(admin\.listen\): another process uses it/,
    },
    {
      title: 'the same port twice',
      config: { listen: `127.0.0.2:${busyPort}`, admin: { listen: `127.0.0.1:${busyPort}` } },
      code: 69,
      line: /127\.0\.0\.1:\d+ \(admin\.listen\)/,
    },
    {
      title: 'an address of another machine',
      config: { listen: '192.0.2.1:8080' },
      code: 69,
      line: /192\.0\.2\.1:8080 \(listen\): this machine has no such address/,
    },
    {
      title: 'an address that counts on one link only',
      config: { listen: '[fe80::1]:8080' },
      code: 69,
      line: /\[fe80::1\]:8080 \(listen\): a link-local address needs its interface, as in \[fe80::1%eth0\]:8080/,
    },
    {
      title: 'a host name that does not exist',
      config: { listen: 'no-such-host.invalid:8080' },
      code: 69,
      line: /no-such-host\.invalid:8080 \(listen\): the host name is unknown/,
    },
    {
      title: 'a store that is not a database',
      config: { store: `sqlite:${notDatabase}` },
      code: 74,
      line: /the store cannot be opened: .*not a SQLite database/,
    },
    {
      title: 'a store that another program keeps locked',
      config: { store: `sqlite:${locked}` },
      code: 74,
      line: /the store cannot be opened: cannot open \S+: database is locked\n$/,
    },
    {
      title: 'a folder that cannot hold uploads',
      config: {
        spool: { directory: '/nowhere' },
        routes: [{ path: '/v1/*', methods: ['POST'], body: { upload: { files: {} } } }],
      },
      code: 69,
      line: /uploads cannot wait in \/nowhere \(spool\.directory\): it is not a folder that can be written to\n$/,
    },
  ] satisfies { title: string; config: Yaml; code: number; line: RegExp }[]) {
    test(`${title} ends the start with one clear line and code ${code}`, async () => {
      const quiet = { log: { level: 'fatal' } };
      const ended = await commandHere(['serve', '--config', configured({ ...quiet, ...config })]);
      assert.match(ended.stderr, /^gatehouse: [^\n]+\n$/);
      assert.match(ended.stderr, line);
      assert.equal(ended.code, code);
    });
  }

  test('one that fails for its port tells all the same of the store that it made', async () => {
    const config = configured({ listen: `127.0.0.1:${busyPort}`, store: `sqlite:${folder}/made.db` });
    const ended = await run(['serve', '--config', config]);
    assert.match(ended.stdout, /made\.db","msg":"a new store was made"/);
    assert.match(ended.stderr, /^gatehouse: [^\n]+: another process uses it\n$/);
    assert.equal(ended.code, 69);
  });

  test('one whose answers would show a key serves nobody', async () => {
    const showsKeys = `--import=data:text/javascript,${encodeURIComponent(`
      const { prototype } = process.getBuiltinModule('http').ServerResponse;
      const { writeHead } = prototype;
      prototype.writeHead = function (status, headers) {
        return writeHead.call(this, status, [...headers, 'X-Key', String(this.req.headers.apikey)]);
      };
    `)}`;
    const ended = await run(['serve', '--config', configured({})], { NODE_OPTIONS: showsKeys });
    assert.match(ended.stderr, /^gatehouse: a key would show in [^\n]+, so nothing was started[^\n]+\n$/);
    assert.deepEqual([ended.code, ended.stdout], [70, '']);
  });

  for (const { words, breaks } of [
    { words: 'check', breaks: 'process.stdout.write = () => { throw fault; };' },
    // It listens for signals before there is anything that could log.
    {
      words: 'serve',
      breaks: `process.on('newListener', (name) => {
        if (name === 'SIGHUP') throw fault;
      });`,
    },
  ]) {
    test(`a fault of ours ends "${words}" with code 70, and nothing is told of what it carries`, async () => {
      const preload = `--import=data:text/javascript,${encodeURIComponent(`
        const fault = Object.assign(new TypeError('broken'), { args: ['s3' + 'cret'] });
        ${breaks}
      `)}`;
      const ended = await run([words, '--config', configured({})], { NODE_OPTIONS: preload });
      assert.match(
        ended.stderr,
        /^gatehouse: a fault of the gateway itself, [^\n]+\nTypeError: broken\n +at /,
      );
      assert.doesNotMatch(ended.stderr, /s3cret/);
      assert.deepEqual([ended.code, ended.stdout], [70, '']);
    });
  }

  test('of a fault that is no error its kind alone is told, also where it is a rejection', async () => {
    const preload = `--import=data:text/javascript,${encodeURIComponent(`
      process.stdout.write = () => Promise.reject('s3' + 'cret');
    `)}`;
    const ended = await run(['check', '--config', configured({})], { NODE_OPTIONS: preload });
    assert.match(ended.stderr, /^gatehouse: a fault of the gateway itself, [^\n]+\nstring\n$/);
    assert.equal(ended.code, 70);
  });

  test('a working directory that was removed ends every command with one clear line and code 69', async () => {
    const config = configured({ store: 'sqlite:./gatehouse.db' });
    for (const words of ['serve', 'keys list', 'usage show']) {
      const script = `rmdir "$PWD" && exec "$0" "${main}" ${words} --config "${config}"`;
      const ended = await ending(spawn('sh', ['-c', script, process.execPath], { cwd: tempFolder(scene) }));
      assert.match(ended.stderr, /^gatehouse: the working directory was removed[^\n]+\n$/);
      assert.equal(ended.code, 69);
    }
  });

  test('a worker ends there too, though the process that leads it could still be heard', async (t) => {
    const child = spawn('sh', ['-c', `rmdir "$PWD" && exec "$0" "${main}" worker`, process.execPath], {
      cwd: tempFolder(scene),
      env: { ...process.env, NODE_UNIQUE_ID: '1' },
      stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
    });
    t.after(() => void child.kill('SIGKILL'));
    assert.deepEqual(await once(child, 'exit'), [69, null]);
  });

  test('a configuration that is not there, or is a folder, ends with one clear line and code 66', async () => {
    for (const file of [join(folder, 'missing.yaml'), folder]) {
      const ended = await commandHere(['serve', '--config', file]);
      assert.match(ended.stderr, /^gatehouse: [^\n]+\n$/);
      assert.ok(ended.stderr.includes(file));
      assert.equal(ended.code, 66);
    }
  });

  test(
    'a named pipe is not waited for, and what a shell hands over is read',
    { timeout: 120_000 },
    async () => {
      const pipe = join(folder, 'pipe');
      execFileSync('mkfifo', [pipe]);
      const served = await run(['serve', '--config', pipe]);
      assert.equal(
        served.stderr,
        `gatehouse: ${pipe} cannot be read: it is not a regular file (--config FILE names the file)\n`,
      );
      assert.equal(served.code, 66);
      const naming = configured({ listen: `\${file:${pipe}}` });
      const handed = ['-c', '"$0" "$1" check --config <(cat "$2")', process.execPath, main, naming];
      assert.match(
        (await ending(spawn('bash', handed))).stderr,
        /^\/dev\/fd\/\d+:1:1: listen: the file \S+\/pipe cannot be read: it is not a regular file\n/,
      );
    },
  );

  test('a configuration that is named by nothing is called "", and an empty variable names none', async () => {
    const nothing = await commandHere(['serve', '--config', '']);
    const none = await run(['serve'], { GATEHOUSE_CONFIG: '' });
    for (const [ended, named] of [
      [nothing, '""'],
      [none, join(folder, 'config/gateway.yaml')],
    ] as const) {
      assert.equal(
        ended.stderr,
        `gatehouse: ${named} cannot be read: there is no such file (--config FILE names the file)\n`,
      );
      assert.equal(ended.code, 66);
    }
  });

  test('a configuration that is not valid ends with its errors and code 78', async (t) => {
    process.env['GATEHOUSE_CONFIG'] = configured({ lisen: 80 });
    t.after(() => delete process.env['GATEHOUSE_CONFIG']);
    const ended = await commandHere(['serve']);
    assert.match(ended.stderr, /:\d+:\d+: .*lisen.*listen/s);
    assert.match(ended.stderr, /\ngatehouse: [^\n]*nothing was started\n$/);
    assert.equal(ended.code, 78);
  });

  for (const { args, stderr } of [
    { args: ['serv'], stderr: /unknown command 'serv'.*Did you mean serve\?/s },
    { args: ['serve', '--confg', 'x'], stderr: /unknown option '--confg'.*Did you mean --config\?/s },
    { args: ['serve', '--config'], stderr: /argument missing/ },
    {
      args: ['serve', 'x'],
      stderr:
        /too many arguments for 'serve'\. Expected 0 arguments but got 1\.\n\(--config FILE names the file; /m,
    },
    { args: ['check', 'x'], stderr: /\n\(--config FILE names the file; / },
    {
      args: ['--config', 'x', 'check'],
      stderr: /unknown option '--config'\n\(options go after the command; see --help\)/,
    },
    {
      args: ['keys', 'verify', 'k3y-of-somebody'],
      stderr: /Expected 0 arguments but got 1\.\n\(the key comes on standard input, [^\n]*\)\n$/,
    },
    {
      args: ['keys', '--config', 'x', 'list'],
      stderr: /unknown option '--config'\n\(options go after the command; see --help\)/,
    },
    { args: ['keys', 'lst'], stderr: /unknown command 'lst'.*Did you mean list\?/s },
    { args: ['usage', 'other'], stderr: /unknown command 'other'$/m },
    { args: ['foo'], stderr: /unknown command 'foo'$/m },
    { args: ['k3y-of-somebody'], stderr: /unknown command$/m },
    { args: ['help', 'nonsense'], stderr: /^error: unknown command 'nonsense'$/m },
    { args: ['help', 'keys', 'nonsense'], stderr: /^error: unknown command 'nonsense'$/m },
    { args: ['keys', 'help', 'creat'], stderr: /unknown command 'creat'.*Did you mean create\?/s },
    {
      args: ['keys', 'create', '--quiet', '--json'],
      stderr: /option '--json' cannot be used with option '-q, --quiet'$/m,
    },
    { args: ['--nothing'], stderr: /unknown option '--nothing'$/m },
    { args: ['check', '-x'], stderr: /unknown option '-x'$/m },
    { args: ['check', '--wait=5'], stderr: /unknown option '--wait'$/m },
    {
      args: ['usage', 'show', '--limit', 'five'],
      stderr: /'--limit <number>' argument is invalid\. It is not a whole number from 1 to 999999999\.$/m,
    },
    {
      args: ['keys', 'list', '--limit', '99999999999'],
      stderr: /It is not a whole number from 1 to 999999999\.$/m,
    },
    { args: ['worker'], stderr: /^gatehouse: a worker is started by [^\n]+\n$/ },
    { args: [], stderr: /Usage: gatehouse/ },
  ]) {
    test(`"gatehouse ${args.join(' ')}" is explained, with code 64`, async () => {
      const ended = await commandHere(args);
      assert.match(ended.stderr, stderr);
      assert.doesNotMatch(ended.stderr, /^ +at /m);
      assert.equal(ended.code, 64);
      assert.equal(ended.stdout, '');
    });
  }

  test('help comes with examples, the version alone', async () => {
    for (const command of ['serve', 'check']) {
      const { stdout, code } = await commandHere([command, '--help']);
      assert.match(stdout, new RegExp(`Example:\\n +\\$ gatehouse ${command} --config `));
      assert.equal(code, 0);
    }
    for (const group of ['keys', 'usage']) {
      assert.match((await commandHere([group, 'help'])).stdout, new RegExp(`^Usage: gatehouse ${group} `));
    }
    const { stdout: shells } = await commandHere(['help', 'completion', 'bash']);
    assert.match(shells, /^Usage: gatehouse completion /);
    for (const command of ['usage show', 'keys create']) {
      const { stdout } = await commandHere(['help', ...command.split(' ')]);
      assert.match(stdout, new RegExp(`^Usage: gatehouse ${command} `));
    }
    const { stdout: update } = await commandHere(['keys', 'update', '--help']);
    const long = update.split('\n').filter((line) => line.length > 80 && !line.startsWith('  $'));
    assert.deepEqual(long, [], 'what is told of an option fits where there are 80 columns');
    const lists = update
      .replaceAll(/\s+/g, ' ')
      .match(/--\w+ <[^>]+> [^<]*; the list is replaced: repeat all/g);
    assert.deepEqual(
      lists?.map((list) => list.split(' ')[0]),
      ['--scope', '--network', '--label', '--quota'],
    );
    assert.match((await commandHere(['--version'])).stdout, /^\d+\.\d+\.\d+\n$/);
  });
});

test('a Node that is too old ends every command with one clear line and code 69', async () => {
  // What it lacks is not there to be imported either.
  const old = `
    import { registerHooks } from 'node:module';
    Object.defineProperty(process, 'versions', { value: { ...process.versions, node: '20.20.2-rc.1' } });
    registerHooks({
      load: (url, context, next) => url === 'old:module'
        ? { format: 'module', source: 'export default {}', shortCircuit: true }
        : next(url, context),
      resolve: (name, context, next) => name === 'node:module'
        ? { url: 'old:module', shortCircuit: true }
        : next(name, context),
    });`;
  const NODE_OPTIONS = `--import data:text/javascript,${encodeURIComponent(old)}`;
  for (const args of [['serve'], ['check'], ['--version'], []]) {
    const { code, stdout, stderr } = await run(args, { NODE_OPTIONS });
    assert.match(stderr, /^gatehouse: needs Node\.js [\d.]+ or later, this is v[\d.]+\n$/);
    assert.deepEqual([code, stdout], [69, '']);
  }
});

describe('an output that cannot be written', { concurrency: 3 }, () => {
  const config = configured({ plans: { free: {} } });

  function runUnread(words: string): Promise<CliRun> {
    const child = spawn(process.execPath, [main, ...words.split(' '), '--config', config], { cwd: folder });
    child.stdout.destroy();
    return ending(child);
  }

  function runOnFullDisk(words: string): Promise<CliRun> {
    const full = openSync('/dev/full', 'w');
    const child = spawn(process.execPath, [main, ...words.split(' '), '--config', config], {
      cwd: folder,
      stdio: ['ignore', full, 'pipe'],
    });
    closeSync(full);
    return ending(child);
  }

  test('ends a command in silence when its reader has gone', async () => {
    const { code, stderr } = await runUnread('usage show --all --json');
    assert.deepEqual([code, stderr], [141, '']);
  });

  test('ends it with one plain line when the disk is full', async () => {
    for (const words of ['check', '--help', '--version', 'keys --help']) {
      const { code, stderr } = await runOnFullDisk(words);
      assert.deepEqual(
        [code, stderr],
        [73, 'gatehouse: standard output cannot be written (ENOSPC)\n'],
        words,
      );
    }
  });

  test('is never silent about a secret that nobody has seen', async () => {
    const full = await runOnFullDisk('keys create --plan free --id lost --quiet');
    const lost = 'gatehouse: the new secret of key lost could not be shown';
    assert.deepEqual([full.code, full.stderr], [73, `${lost} (ENOSPC): rotate the key to get another\n`]);
    const unread = await runUnread('keys rotate lost --now --yes --json');
    assert.deepEqual([unread.code, unread.stderr], [73, `${lost} (EPIPE): rotate the key to get another\n`]);
    assert.match((await commandHere(['keys', 'show', 'lost', '--config', config])).stdout, /secret 2/);
  });

  function runInShell(words: string, redirection: string): Promise<CliRun> {
    const line = `"$0" "$@" ${redirection}`;
    const all = [process.execPath, main, ...words.split(' '), '--config', config];
    return ending(spawn('sh', ['-c', line, ...all], { cwd: folder }));
  }

  test('keeps a secret from being made if it is closed from the start', async () => {
    const create = 'keys create --plan free --id unseen --quiet';
    const none =
      'gatehouse: standard output is closed, and nobody would see the new secret: nothing was done\n';
    const made = await runInShell(create, '>&-');
    assert.deepEqual([made.code, made.stderr], [73, none]);
    // Who throws it away may want that, as in ending the secrets before it.
    const thrownAway = await runInShell(create, '> /dev/null');
    assert.deepEqual([thrownAway.code, thrownAway.stderr], [0, '']);
    const rotated = await runInShell('keys rotate unseen --now --yes', '>&-');
    assert.deepEqual([rotated.code, rotated.stderr], [73, none]);
    assert.doesNotMatch(
      (await commandHere(['keys', 'show', 'unseen', '--config', config])).stdout,
      /secret 2/,
    );
  });

  test('is nothing to a command whose output is thrown away by the program that starts it', async () => {
    for (const words of ['--version', `check --config ${config}`]) {
      const child = spawn(process.execPath, [main, ...words.split(' ')], { stdio: 'ignore' });
      assert.deepEqual(await once(child, 'close'), [0, null], words);
    }
  });

  test('on standard error changes nothing', async () => {
    // It says there that it makes a store, before it makes the key.
    const unmade = configured({ plans: { free: {} }, store: `sqlite:${folder}/unmade.db` });
    const create = ['keys', 'create', '--plan', 'free', '--quiet', '--config', unmade];
    const child = spawn(process.execPath, [main, ...create]);
    child.stderr.destroy();
    const { code, stdout } = await ending(child);
    assert.equal(code, 0);
    assert.match(stdout, /^gh_\w+\n$/);
  });
});

const young = ['--no-minor-gc-task', '--no-allocation-site-pretenuring'];
const inlining = [
  '--max-inlined-bytecode-size=1000',
  '--max-inlined-bytecode-size-cumulative=2500',
  '--max-inlined-bytecode-size-small=60',
  '--min-inlining-frequency=0.05',
  '--max-valid-polymorphic-map-count=8',
];
const telling = [
  '--import',
  'data:text/javascript,import{cachedDataVersionTag}from"v8";process.on("exit",()=>process._rawDebug(cachedDataVersionTag()))',
];

describe('a gateway as its users start it', { concurrency: 3 }, () => {
  for (const { title, send } of [
    { title: 'SIGTERM to npm start', send: (npm: number) => process.kill(npm, 'SIGTERM') },
    // A terminal sends it to all, and npm hands it on once more.
    { title: 'Ctrl-C under npm start', send: (npm: number) => process.kill(-npm, 'SIGINT') },
  ]) {
    test(`${title} lets the gateway finish`, async (t) => {
      const npm = spawn('npm', ['start', '--', '--config', configured({})], { cwd: root, detached: true });
      const output = ending(npm);
      t.after(() => endGroup(npm));
      let log = '';
      npm.stdout.on('data', (chunk: Buffer) => (log += chunk.toString()));
      await until(() => log.includes('"ready'));
      send(npm.pid!);
      assert.match((await output).stdout, /"stopping.*"stopped"/s);
    });
  }

  test('it starts with flags under which V8 takes what Node brings along compiled', () => {
    assert.equal(tagUnder(launch.flags), tagUnder([]));
  });

  test('however it is started, it bounds its own memory under the same process id, SIGUSR1 opens no inspector, SIGUSR2 ends nothing, SIGINT ends it with code 0, and once it is ready its heap fills and grows as is good for requests', async (t) => {
    const inspector = await freePort();
    const env = { NODE_OPTIONS: `--inspect-port=${inspector}` };
    const { child, words, environment, log } = await startByItself(t, env, {}, telling);
    assert.deepEqual(words.slice(1, 1 + launch.flags.length), launch.flags);
    assert.ok(words.includes('serve'));
    assert.ok(environment.includes('MALLOC_ARENA_MAX=1'));

    const ready = log().match(
      /"listen":"127\.0\.0\.1:(\d+)","admin":"127\.0\.0\.1:\d+","config":"(.+?)","msg":"ready/,
    );
    assert.ok(ready, 'it tells both of its addresses, and its file');
    assert.equal(ready[2], join(folder, words[words.indexOf('--config') + 1] ?? ''));
    child.kill('SIGUSR1');
    child.kill('SIGUSR2');
    assert.equal((await exchange(t, Number(ready[1]), name)).status, 200);
    await assert.rejects(openRaw(t, inspector), { code: 'ECONNREFUSED' });

    const startedAt = performance.now();
    const exited = once(child, 'exit');
    const tag = tagUnder(
      [...young, '--heap-growing-percent=25', ...inlining],
      '--semi-space-growth-factor=1',
    );
    assert.equal(await tagAtEnd(child, 'SIGINT'), tag);
    assert.deepEqual(await exited, [0, null]);
    assert.ok(performance.now() - startedAt < 20_000);
    await until(() => log().endsWith('"msg":"stopped"}\n'));
    assert.equal(log().split('"msg":"ready').length, 2);
  });

  test('what somebody chose for its memory stays', async (t) => {
    // V8 takes either spelling.
    const given = [
      '--heap-growing-percent=77',
      '--semi_space_growth_factor=3',
      '--max-inlined-bytecode-size=400',
    ];
    const chosen = { NODE_OPTIONS: '--max-old-space-size=2000', MALLOC_ARENA_MAX: '3' };
    const { child, words, environment } = await startByItself(t, chosen, {}, [...given, ...telling]);
    const others = launch.flags.filter((flag) => !/old-space|semi-space/.test(flag));
    assert.deepEqual(words.slice(1, 1 + others.length + given.length), [...others, ...given]);
    for (const [option, value] of Object.entries(chosen))
      assert.ok(environment.includes(`${option}=${value}`));
    assert.equal(await tagAtEnd(child), tagUnder([...young, ...given]));
  });

  test('its young generation is collected between requests, before it is full', async (t) => {
    const { log } = await startByItself(t, {}, {}, ['--trace-gc']);
    const port = Number(/"listen":"127\.0\.0\.1:(\d+)"/.exec(log())?.[1]);
    // As V8 calls it when it is asked to.
    for (let asked = 0; !/Scavenge .* testing;/.test(log()); asked += 8) {
      assert.ok(asked < 2000, 'half of it was full long before');
      await askTogether(t, port, name);
    }
  });

  test('where the system lets it start no program, not even itself, it goes on as it is', async (t) => {
    const sandbox = ['--permission', '--allow-fs-read=*', '--allow-fs-write=*', '--allow-net'];
    const { child, words } = await startByItself(t, {}, {}, sandbox);
    assert.deepEqual(words.slice(1, words.indexOf(main)), sandbox);
    child.kill('SIGTERM');
    assert.deepEqual(await once(child, 'exit'), [0, null]);
  });

  test('what npm ci keeps compiled is what the commands take, and serve with its own flags', async (t) => {
    const kept = tempFolder(t);
    const { prepare, gatehouse, start } = JSON.parse(
      readFileSync(join(root, 'package.json'), 'utf8'),
    ).scripts;
    const script = /node (\S+)/.exec(prepare)?.[1] ?? '';
    const usual = 'node_modules/.cache/gatehouse';
    assert.ok(prepare.startsWith(`NODE_COMPILE_CACHE=${usual} `));
    // As everywhere, a folder that somebody has chosen is kept.
    const chosen = `NODE_COMPILE_CACHE=\${NODE_COMPILE_CACHE:-${usual}} exec node `;
    for (const words of [gatehouse, start]) assert.ok(words.startsWith(chosen), words);
    const env = { ...process.env, NODE_COMPILE_CACHE: kept };
    await ending(spawn(process.execPath, [join(root, script)], { env }));
    const [only = '', ...others] = readdirSync(kept);
    assert.deepEqual(others, [], 'serve and the commands do not share what is compiled');
    assert.ok(readdirSync(join(kept, only)).length > 200);
    const all = (): readonly string[] => readdirSync(kept, { recursive: true }).map(String).toSorted();
    const before = all();
    // Between them the leading process and its workers load all that any `serve` does.
    const change = { store: 'redis://127.0.0.1:1', workers: 2 };
    const { child } = await startByItself(t, { NODE_COMPILE_CACHE: kept }, change);
    child.kill('SIGTERM');
    await once(child, 'exit');
    for (const words of [
      ['check', '--config', configured({})],
      ['completion', 'bash'],
      ['keys', 'pattern'],
    ]) {
      await run(words, env);
    }
    assert.deepEqual(all(), before, 'a start had to compile');
  });

  /** A line has all of its path. */
  const longRequest = requestBytes(`GET /v1/${'x'.repeat(15_000)}`, [['apiKey', demoKey]]);
  const routes = [{ path: '/v1/*', methods: ['GET'], body: 'none' }];

  test('a pipe that nobody reads, for the log and the errors of several workers, does not stop the end', async (t) => {
    const gateway = await startOnPipe(t, configured({ routes, workers: 2 }), 'log and errors');
    t.after(() => gateway.close());
    for (let asked = 0; asked < 40; asked += 8) await askTogether(t, gateway.port, longRequest);
    gateway.child.kill('SIGTERM');
    assert.deepEqual(await gateway.exited, [0, null]);
  });

  test('a log pipe that nobody reads stops neither the traffic nor the end, and what is lost is counted', async (t) => {
    const gateway = await startOnPipe(t, configured({ routes }));
    t.after(() => gateway.close());
    // The pipe is full at 64 KB, and 8 MB wait in memory.
    for (let asked = 0; asked < 600; asked += 8) await askTogether(t, gateway.port, longRequest);
    const page = await (await fetch(`http://127.0.0.1:${gateway.adminPort}/metrics`)).text();
    const lost = Number(/^gatehouse_log_lost_lines_total (\d+)$/m.exec(page)?.[1]);
    assert.ok(lost > 0 && lost < 100, `${lost} lines`);
    const startedAt = performance.now();
    gateway.child.kill('SIGTERM');
    assert.deepEqual(await gateway.exited, [0, null]);
    assert.ok(performance.now() - startedAt < 20_000, `${performance.now() - startedAt} ms`);
    assert.equal(gateway.errors(), '');
  });

  test('a log pipe whose reader has gone stops neither the traffic nor the end', async (t) => {
    const gateway = await startOnPipe(t, configured({}));
    gateway.close();
    for (let asked = 0; asked < 20; asked += 1)
      assert.equal((await exchange(t, gateway.port, name)).status, 200);
    gateway.child.kill('SIGTERM');
    assert.deepEqual(await gateway.exited, [0, null]);
    assert.equal(gateway.errors(), '');
  });
});

/** Eight requests in one go, on a connection of their own: what has come on one is read again with each answer. */
async function askTogether(t: TestContext, port: number, request: Buffer): Promise<void> {
  const client = await openRaw(t, port);
  client.write(Buffer.concat(Array.from({ length: 8 }, () => request)));
  assert.equal((await client.responses(8))[7]?.status, 200);
  client.socket.destroy();
}

function endGroup({ pid }: ChildProcess): void {
  try {
    process.kill(-pid!, 'SIGKILL');
  } catch {
    // It is gone already.
  }
}

/** What V8 compares before it takes what was compiled elsewhere: it changes with most flags, also with those that are set later. */
function tagUnder(flags: readonly string[], ...setLater: readonly string[]): string {
  const later = setLater.map((flag) => `v8.setFlagsFromString('${flag}')`);
  const script = [...later, 'v8.cachedDataVersionTag()'].join(',');
  return spawnSync(process.execPath, [...flags, '-p', script]).stdout.toString();
}

async function tagAtEnd(child: ChildProcess, signal: NodeJS.Signals = 'SIGTERM'): Promise<string> {
  const told = once(child.stderr!, 'data');
  child.kill(signal);
  return String(await told);
}

interface StartedByItself {
  readonly child: ChildProcess;
  readonly words: readonly string[];
  readonly environment: readonly string[];
  /** All of its log so far. */
  readonly log: () => string;
}

/** Starts `serve` as a user does, and reads what became of its command line and environment once it is ready. */
async function startByItself(
  t: { after(undo: () => void): void },
  env: Readonly<Record<string, string>>,
  change: Yaml = {},
  flags: readonly string[] = [],
): Promise<StartedByItself> {
  const fileName = relative(folder, configured(change));
  const child = spawn(process.execPath, [...flags, main, 'serve', '--config', fileName], {
    cwd: folder,
    env: { ...process.env, ...env },
  });
  t.after(() => child.kill('SIGKILL'));
  let stdout = '';
  child.stdout.on('data', (chunk: Buffer) => (stdout += chunk.toString()));
  await until(() => stdout.includes('"ready') || child.exitCode !== null);
  assert.equal(child.exitCode, null, 'it ended before it was ready');
  const read = (file: string): string[] => readFileSync(`/proc/${child.pid}/${file}`, 'utf8').split('\0');
  return { child, words: read('cmdline'), environment: read('environ'), log: () => stdout };
}

/** Starts the gateway with a pipe of ours as its standard output, and reads it up to the ready line. */
async function startOnPipe(
  t: { after(undo: () => void): void },
  config: string,
  carries: 'log' | 'log and errors' = 'log',
) {
  const fifo = join(folder, `stdout-${(files += 1)}`);
  execFileSync('mkfifo', [fifo]);
  const reader = openSync(fifo, constants.O_RDONLY | constants.O_NONBLOCK);
  const writer = openSync(fifo, constants.O_WRONLY);
  const child: ChildProcess = spawn(process.execPath, [main, 'serve', '--config', config], {
    cwd: folder,
    stdio: ['ignore', writer, carries === 'log' ? 'pipe' : writer],
  });
  closeSync(writer);
  let errors = '';
  child.stderr?.on('data', (chunk: Buffer) => (errors += chunk.toString()));
  const exited = once(child, 'exit') as Promise<[number | null, string | null]>;
  t.after(() => void child.kill('SIGKILL'));
  let text = '';
  const buffer = Buffer.alloc(65_536);
  const { port, adminPort } = await until(() => {
    try {
      text += buffer.toString('utf8', 0, readSync(reader, buffer));
    } catch {
      // Nothing there yet.
    }
    return /"listen":"127\.0\.0\.1:(?<port>\d+)","admin":"127\.0\.0\.1:(?<adminPort>\d+)"/.exec(text)?.groups;
  });
  return {
    child,
    port: Number(port),
    adminPort: Number(adminPort),
    exited,
    errors: () => errors,
    close: () => closeSync(reader),
  };
}
