import { spawn } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { connect, createServer } from 'node:net';
import type { AddressInfo } from 'node:net';
import { tempFolder } from './temp-folder.ts';
import type { Scene } from './temp-folder.ts';
import { until } from './poll.ts';

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

/** Starts a redis-server and stops it after the test. */
export async function startRedisServer(t: Scene, options: ServerOptions = {}): Promise<RedisServer> {
  const port = await freePort();
  const folder = tempFolder(t);
  const base = [
    '--port',
    String(port),
    '--bind',
    '127.0.0.1',
    '--dir',
    folder,
    '--save',
    '',
    ...(options.args ?? []),
  ];
  const commandLine = options.commandLine?.(port) ?? base;
  let child: ChildProcess | undefined;

  async function start(): Promise<void> {
    child = spawn('redis-server', commandLine, { stdio: 'ignore' });
    const started = child;
    await until(
      async () => {
        if (started.exitCode !== null) throw new Error(`redis-server ended with ${started.exitCode}`);
        return accepts(port);
      },
      { within: 10_000 },
    );
  }

  async function stop(): Promise<void> {
    if (child === undefined) return;
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

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, 'close');
  // A cluster node also listens on its port plus 10000, which must exist.
  return port < 55_000 ? port : freePort();
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
