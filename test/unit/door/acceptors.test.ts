import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer as createHttpServer } from 'node:http';
import { connect, createServer, Server, Socket, type ListenOptions } from 'node:net';
import { platform } from 'node:os';
import { text } from 'node:stream/consumers';
import { describe, it, type TestContext } from 'node:test';
import { claimPort, openAcceptors } from '../../../src/door/acceptors.ts';
import { countTurns } from '../../helpers/count-turns.ts';
import { freePort } from '../../helpers/free-port.ts';
import { listen } from '../../helpers/listen.ts';
import { until } from '../../helpers/poll.ts';
import { refuses } from '../../helpers/refuses.ts';

const minute = 60_000;
const local = { host: '127.0.0.1', port: 0 };
const roomy = { hasRoom: true, refuse: () => assert.fail('there is room') };
const open = (server: Server, address = local) =>
  openAcceptors(server, { address, sharesPort: false, connections: roomy });

/** The system lets no server listen where it is asked for that, and says why. */
function refuseToListen(t: TestContext, code: string, where: (options: ListenOptions) => boolean) {
  type Listen = (this: Server, options: ListenOptions, whenOpen: () => void) => Server;
  const really = Reflect.get(Server.prototype, 'listen') as Listen;
  function refuse(this: Server, options: ListenOptions, whenOpen: () => void): Server {
    if (!where(options)) return really.call(this, options, whenOpen);
    setImmediate(() => this.emit('error', Object.assign(new Error(code), { code })));
    return this;
  }
  return t.mock.method(Server.prototype, 'listen', refuse).mock;
}

/** Where Node notes on a socket that small pieces are sent at once. */
const noDelay = Object.getOwnPropertySymbols(new Socket()).find(
  ({ description }) => description === 'kSetNoDelay',
)!;

describe('acceptors', () => {
  it('take several connections in one turn of the event loop', async (t) => {
    const turns = countTurns(t);
    const takenIn: number[] = [];
    const kinds = new Set<string>();
    const server = createHttpServer().on('connection', (socket: Socket) => {
      takenIn.push(turns());
      kinds.add(`${socket.allowHalfOpen} ${Reflect.get(socket, noDelay)}`);
      socket.destroy();
    });
    const acceptors = await open(server);
    t.after(() => acceptors.close());
    const clients = Array.from({ length: 128 }, () => connect(acceptors.address.port, local.host));
    await until(() => takenIn.length === clients.length);
    const turnsMax = platform() === 'linux' ? clients.length / 2 : clients.length;
    assert.ok(new Set(takenIn).size <= turnsMax, `it took ${new Set(takenIn).size} turns`);
    // All as the server takes its own.
    assert.deepEqual([...kinds], ['true true']);
  });

  it('need a port that is claimed under none of the names of its address', async () => {
    const claim = await claimPort({ ...local, port: await freePort() });
    for (const host of ['127.1', '127.0.0.1', '::ffff:127.0.0.1'])
      await assert.rejects(
        open(createServer(), { host, port: claim.port }),
        { code: 'EADDRINUSE', port: claim.port },
        host,
      );
    claim.release();
    const acceptors = await until(() => open(createServer(), { host: '127.1', port: claim.port }));
    await acceptors.close();
  });

  it('share a port that the system has chosen with nobody else, before they listen there and after', async (t) => {
    const mock = t.mock.method(Server.prototype, 'close');
    const claim = await claimPort(local);
    const sharing = { address: { ...local, port: claim.port }, sharesPort: true, connections: roomy };
    const acceptors = await openAcceptors(createServer(), sharing);
    assert.equal(mock.mock.callCount(), platform() === 'linux' ? 0 : 1, 'it is not let go of meanwhile');
    claim.makeWay();
    await acceptors.close();
    // As when all workers have died, and others are on their way.
    if (platform() === 'linux')
      await assert.rejects(open(createServer(), sharing.address), { code: 'EADDRINUSE' });
    claim.release();
    const next = await until(() => open(createServer(), sharing.address));
    await next.close();
  });

  it('share a port with nobody who was not meant to, however close they come', async () => {
    const first = await open(createServer());
    await assert.rejects(open(createServer(), first.address), { code: 'EADDRINUSE' });
    await first.close();
    const both = await Promise.allSettled([1, 2].map(() => open(createServer(), first.address)));
    const opened = both.filter((each) => each.status === 'fulfilled');
    assert.equal(opened.length, 1);
    await opened[0]?.value.close();
  });

  it('say that a port is taken, when whoever has it does not share it', async (t) => {
    const other = createServer();
    const port = await listen(t, other);
    const sharing = { address: { ...local, port }, sharesPort: true, connections: roomy };
    await assert.rejects(openAcceptors(createServer(), sharing), { code: 'EADDRINUSE' });
  });

  it('keep nothing of a port of which they could not open all', async (t) => {
    const address = { ...local, port: await freePort() };
    let opened = 0;
    refuseToListen(t, 'EMFILE', ({ reusePort }) => reusePort === true && (opened += 1) === 10);
    await assert.rejects(open(createServer(), address), { code: 'EMFILE' });
    const again = await until(() => open(createServer(), address).catch(() => undefined));
    await again.close();
  });

  it('do without a lock where there may be none, and nowhere else', async (t) => {
    const mock = refuseToListen(t, 'EPERM', ({ path }) => path !== undefined);
    const address = { ...local, port: await freePort() };
    const claim = await claimPort(address);
    claim.release();
    mock.restore();
    refuseToListen(t, 'EMFILE', ({ path }) => path !== undefined);
    await assert.rejects(claimPort(address), { code: 'EMFILE' });
  });

  it('leave the port to the next while they wait for the last connections', async (t) => {
    const free = await open(createServer());
    await free.close();
    const server = createServer((socket) => socket.resume().on('end', () => socket.end()));
    const first = await open(server, free.address);
    const client = connect(first.address.port, local.host);
    t.after(() => client.destroy());
    await once(client, 'connect');
    const closing = first.close();
    const next = await until(() => open(createServer(), first.address).catch(() => undefined));
    await next.close();
    client.destroy();
    await closing;
  });

  it('hand no connection to a server that has no room', async (t) => {
    let handed = 0;
    const server = createServer((socket) => {
      handed += 1;
      socket.destroy();
    });
    let refused = 0;
    const refuse = (socket: Socket): void => {
      refused += 1;
      socket.destroy();
    };
    const connections = { hasRoom: false, refuse };
    const acceptors = await openAcceptors(server, { address: local, sharesPort: false, connections });
    t.after(() => acceptors.close());
    const clients = Array.from({ length: 64 }, () => connect(acceptors.address.port, local.host).resume());
    await Promise.all(clients.map((client) => once(client, 'close')));
    assert.equal(handed + refused, clients.length);
    // The server's own socket does not ask.
    if (platform() === 'linux') assert.ok(handed < clients.length / 2, `${handed} were handed on`);
  });

  it('take those who have come already, before they close', async () => {
    const server = createServer((socket) => socket.end('taken'));
    const acceptors = await open(server);
    const clients = Array.from({ length: 200 }, () => connect(acceptors.address.port, local.host));
    await acceptors.takeWaiting(minute);
    const closing = acceptors.close();
    const words = await Promise.all(clients.map((client) => text(client)));
    assert.deepEqual(new Set(words), new Set(['taken']));
    await closing;
  });

  it('do not go on for ever taking those who still come', async (t) => {
    const server = createServer((socket) => socket.destroy());
    const acceptors = await open(server);
    let goesOn = true;
    t.after(() => (goesOn = false));
    function come(): void {
      if (!goesOn) return;
      for (let count = 0; count < 2; count += 1) {
        const client = connect(acceptors.address.port, local.host);
        client.on('error', () => client.destroy()).resume();
      }
      setImmediate(come);
    }
    come();
    await acceptors.takeWaiting(minute);
    await acceptors.close();
  });

  it('are closed when the last connection of any of them is gone', async () => {
    const taken: Socket[] = [];
    const server = createServer((socket) => taken.push(socket));
    const acceptors = await open(server);
    const clients = Array.from({ length: 32 }, () => connect(acceptors.address.port, local.host));
    await until(() => taken.length === clients.length);
    let closed = false;
    const closing = acceptors.close().then(() => (closed = true));
    await until(() => refuses(acceptors.address.port));
    for (const socket of taken.slice(1)) socket.destroy();
    await until(
      () => clients.filter(({ readyState }) => readyState !== 'open').length === clients.length - 1,
    );
    assert.equal(closed, false);
    taken[0]?.destroy();
    await closing;
  });
});
