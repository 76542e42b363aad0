import { spawn } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { connect, createServer } from 'node:net';
import type { AddressInfo } from 'node:net';
import { tempFolder } from './temp-folder.ts';
import type { Scene } from './temp-folder.ts';
import { until } from './until.ts';

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

/** Starts a redis-server and stops it after the test. */
export async function startRedisServer(
  t: Scene,
  { args = [] }: { args?: readonly string[] } = {},
): Promise<RedisServer> {
  const port = await freePort();
  const folder = tempFolder(t);
  let child: ChildProcess | undefined;

  async function start(): Promise<void> {
    const base = [
      '--port',
      String(port),
      '--bind',
      '127.0.0.1',
      '--dir',
      folder,
      '--save',
      '',
      '--daemonize',
      'no',
    ];
    child = spawn('redis-server', [...base, ...args], { stdio: 'ignore' });
    await until(() => accepts(port));
  }

  async function stop(): Promise<void> {
    if (child === undefined) return;
    const ended = once(child, 'close');
    // A stopped process takes no other signal.
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

/** A port that was free a moment ago. */
export async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, 'close');
  return port;
}

/** Sends one command to a port of the loopback and resolves to the raw answer. */
export async function sayTo(port: number, words: readonly (string | number)[]): Promise<string> {
  const socket = connect(port, '127.0.0.1');
  try {
    const parts = words.map(String).map((word) => `$${Buffer.byteLength(word)}\r\n${word}\r\n`);
    socket.write(`*${words.length}\r\n${parts.join('')}`);
    const [chunk] = (await once(socket, 'data')) as [Buffer];
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
