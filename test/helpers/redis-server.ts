import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { connect } from 'node:net';
import { freePort } from './free-port.ts';
import { until, type Scene } from './poll.ts';
import { hasEnded } from './processes.ts';
import { tempFolder } from './temp-folder.ts';

/** A real redis-server of the test's own, on a free port of the loopback. */
export interface RedisServer {
  readonly port: number;
  readonly url: string;
  /** Sends one command on a connection of its own and resolves to the raw answer. */
  say(...words: readonly (string | number)[]): Promise<string>;
  signal(signal: NodeJS.Signals): void;
  stop(): Promise<void>;
  /** Starts it again on the same port, with the data that it saved. */
  start(): Promise<void>;
}

interface ServerOptions {
  /** Added to the command line. */
  readonly args?: readonly string[];
  /** Takes the place of the usual command line. */
  readonly commandLine?: (port: number) => readonly string[];
}

/** Every write is on disk before it is answered. With less a killed Redis loses some where the disk is slow. */
export const durable: readonly string[] = ['--appendonly', 'yes', '--appendfsync', 'always'];

/** Starts a redis-server and stops it after the test. */
export async function startRedisServer(t: Scene, options: ServerOptions = {}): Promise<RedisServer> {
  const port = await freePort();
  const folder = tempFolder(t);
  const base = ['--port', String(port), '--bind', '127.0.0.1', '--dir', folder, '--save', ''];
  const commandLine = options.commandLine?.(port) ?? [...base, ...(options.args ?? [])];
  let child: ChildProcess | undefined;

  async function start(): Promise<void> {
    const started = spawn('redis-server', commandLine, { stdio: ['ignore', 'pipe', 'pipe'] });
    child = started;
    let output = '';
    let missing: Error | undefined;
    for (const stream of [started.stdout, started.stderr])
      stream.on('data', (chunk: Buffer) => (output = (output + chunk.toString()).slice(-10_000)));
    started.on('error', (cause) => {
      missing = new Error('redis-server is not installed: run `npm test`, which installs it', { cause });
    });
    await until(async () => {
      if (missing) throw missing;
      if (hasEnded(started))
        throw new Error(`redis-server ended with ${started.exitCode ?? started.signalCode}\n${output}`);
      return accepts(port);
    });
  }

  async function stop(): Promise<void> {
    // One that never ran or has ended by itself says nothing more.
    if (child?.pid === undefined || hasEnded(child)) return;
    const ended = once(child, 'close');
    // A server that was stopped with SIGSTOP takes no other signal.
    child.kill('SIGKILL');
    await ended;
    child = undefined;
  }

  t.after(stop);
  await start();
  return {
    port,
    url: `redis://127.0.0.1:${port}`,
    say: (...words) => sayTo(port, words),
    signal: (signal) => void child?.kill(signal),
    stop,
    start,
  };
}

async function sayTo(port: number, words: readonly (string | number)[]): Promise<string> {
  const socket = connect(port, '127.0.0.1');
  try {
    const parts = words.map(String).map((word) => `$${Buffer.byteLength(word)}\r\n${word}\r\n`);
    socket.write(`*${words.length}\r\n${parts.join('')}`);
    const closed = once(socket, 'close').then(() => {
      throw new Error('the server closed the connection without an answer');
    });
    const [chunk] = (await Promise.race([once(socket, 'data'), closed])) as [Buffer];
    return chunk.toString();
  } finally {
    socket.destroy();
  }
}

async function accepts(port: number): Promise<boolean> {
  try {
    // Any answer will do: -NOAUTH and -LOADING come from a server that runs.
    return (await sayTo(port, ['PING'])) !== '';
  } catch {
    return false;
  }
}
