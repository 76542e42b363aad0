import { connect, createServer, type Socket } from 'node:net';
import { setTimeout as pause } from 'node:timers/promises';
import { listen } from './listen.ts';
import { until, type Scene } from './poll.ts';

/** A TCP proxy whose faults are switched on and off while connections run through it. */
export interface TcpProxy {
  readonly port: number;
  /**
   * What happens to the upstream's answers: passed on, thrown away, held until this is changed, or passed on late. A connection
   * that has lost an answer never passes one again, as TCP would not either.
   */
  answers: 'pass' | 'drop' | 'hold' | { readonly lateByMs: number };
  /** Nothing moves on the connections that there are, in either direction, and nobody is told. New ones work. */
  freezeConnections(): void;
  cutConnections(): void;
  /** Puts something among the answers, on the connections that there are. */
  sayToClients(bytes: string): void;
}

/** Starts a proxy in front of a port of the loopback. */
export async function startTcpProxy(t: Scene, upstreamPort: number): Promise<TcpProxy> {
  const sockets = new Set<Socket>();
  const clients = new Set<Socket>();
  const deaf = new WeakSet<Socket>();
  const late = new Map<Socket, Promise<void>>();
  const server = createServer((client) => {
    const upstream = connect(upstreamPort, '127.0.0.1');
    for (const socket of [client, upstream]) {
      sockets.add(socket);
      socket.on('close', () => sockets.delete(socket));
      socket.on('error', () => socket.destroy());
    }
    clients.add(client);
    client.on('close', () => {
      clients.delete(client);
      upstream.destroy();
    });
    upstream.on('close', () => client.destroy());
    client.on('data', (chunk) => upstream.write(chunk));
    upstream.on('data', (chunk) => passOn(chunk as Buffer, client));
  });

  function passOn(chunk: Buffer, client: Socket): void {
    const { answers } = proxy;
    if (answers === 'drop') deaf.add(client);
    if (answers === 'drop' || deaf.has(client)) return;
    const waiting = late.get(client);
    if (answers === 'pass' && waiting === undefined) {
      client.write(chunk);
      return;
    }
    // What is late holds up all behind it: nothing on a connection is ever overtaken.
    const passed = passLate(chunk, client, Promise.all([waiting, delayOf(answers, client)]));
    late.set(client, passed);
    void passed.then(() => late.get(client) === passed && late.delete(client));
  }

  function delayOf(answers: TcpProxy['answers'], client: Socket): Promise<unknown> | undefined {
    if (answers === 'hold')
      return until(() => proxy.answers !== 'hold' || client.destroyed, { within: Infinity });
    return typeof answers === 'object' ? pause(answers.lateByMs) : undefined;
  }

  const proxy: TcpProxy = {
    port: await listen(t, server),
    answers: 'pass',
    freezeConnections() {
      for (const socket of sockets) socket.removeAllListeners('data').pause();
    },
    cutConnections() {
      for (const socket of sockets) socket.destroy();
    },
    sayToClients(bytes) {
      for (const client of clients) client.write(bytes);
    },
  };
  t.after(() => proxy.cutConnections());
  return proxy;
}

async function passLate(chunk: Buffer, client: Socket, delay: Promise<unknown>): Promise<void> {
  await delay;
  if (!client.destroyed) client.write(chunk);
}
