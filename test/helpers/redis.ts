import { spawn } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { connect, createServer } from 'node:net';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { until } from './poll.ts';
import type { Scene } from './poll.ts';

/** A real Redis of the test's own. */
export interface Redis {
  readonly port: number;
  readonly url: string;
  readonly pid: number;
  /** Ends it in good order; what it held is gone. */
  stop(): Promise<void>;
  /** Ends it as a crash would. */
  kill(): Promise<void>;
  /** Starts it again on the same port, empty. */
  start(): Promise<void>;
  /** Freezes it: connections stay open and nothing answers. */
  pause(): void;
  resume(): void;
}

/** Starts redis-server on a free loopback port, without persistence, and waits until it answers. */
export async function startRedis(t: Scene, args: readonly string[] = []): Promise<Redis> {
  const folder = await mkdtemp(join(tmpdir(), 'gatehouse-redis-'));
  const port = await freePort();
  let child = await launch(port, folder, args);
  const end = async (signal: NodeJS.Signals): Promise<void> => {
    if (child.exitCode !== null || child.signalCode !== null) return;
    const exited = once(child, 'exit');
    child.kill(signal);
    await exited;
  };
  t.after(async () => {
    await end('SIGKILL');
    await rm(folder, { recursive: true, force: true });
  });
  return {
    port,
    url: `redis://127.0.0.1:${port}`,
    get pid() {
      return child.pid!;
    },
    stop: () => end('SIGTERM'),
    kill: () => end('SIGKILL'),
    async start() {
      child = await launch(port, folder, args);
    },
    pause: () => void child.kill('SIGSTOP'),
    resume: () => void child.kill('SIGCONT'),
  };
}

async function launch(port: number, folder: string, args: readonly string[]): Promise<ChildProcess> {
  const settings = [
    '--port',
    String(port),
    '--bind',
    '127.0.0.1',
    '--save',
    '',
    '--appendonly',
    'no',
    '--dir',
    folder,
  ];
  const child = spawn('redis-server', [...settings, ...args], { stdio: ['ignore', 'pipe', 'pipe'] });
  let output = '';
  let missing: Error | undefined;
  child.stdout.on('data', (chunk: Buffer) => (output += chunk.toString()));
  child.stderr.on('data', (chunk: Buffer) => (output += chunk.toString()));
  child.on('error', (cause) => {
    missing = new Error(
      'redis-server is not installed: run `npm test`, which installs it, or `apt-get install redis-server`',
      { cause },
    );
  });
  await until(
    () => {
      if (missing) throw missing;
      if (child.exitCode !== null) throw new Error(`redis-server ended with ${child.exitCode}\n${output}`);
      return answersPing(port);
    },
    { within: 10_000, what: 'PONG' },
  );
  return child;
}

async function answersPing(port: number): Promise<boolean> {
  const socket = connect({ port, host: '127.0.0.1' });
  try {
    await once(socket, 'connect');
    socket.write('PING\r\n');
    const [reply] = (await once(socket, 'data')) as [Buffer];
    return /^(\+PONG|-NOAUTH)/.test(reply.toString());
  } catch {
    return false;
  } finally {
    socket.destroy();
  }
}

/** A port that was free a moment ago, for a server that cannot choose one itself. */
export async function freePort(): Promise<number> {
  const server = createServer();
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, 'close');
  return port;
}
