import { connect as connectTcp, type OnReadOpts, type Socket } from 'node:net';
import { connect as connectTls, createSecureContext, type ConnectionOptions } from 'node:tls';
import { addressOf, serverNameOf } from '../config/addresses.ts';
import { afterReading } from '../waiting/when-all-is-read.ts';
import { ConnectTimeout } from './failures.ts';
import { openByName } from './look-up.ts';

/** What the https connections to an upstream trust. */
export type Trust = Pick<ConnectionOptions, 'secureContext'>;

/**
 * Reads the authorities once for all connections. If each read them for itself, the system's bundle would cost each of them 10 ms
 * of the event loop, and 1 MB for as long as it is kept.
 */
export function createTrust(ca: string | undefined): Trust {
  return ca === undefined ? {} : { secureContext: createSecureContext({ ca }) };
}

/** Connects to one target, TLS included. Exactly one of the first two callbacks is called, once. */
export type Connector = (
  whenConnected: (socket: Socket) => void,
  whenFailed: (error: Error) => void,
  /** Takes what comes. The bytes are valid only while it runs. */
  onBytes?: (bytes: Buffer) => void,
) => void;

export function createConnector(target: URL, timeoutMs: number, trust: Trust): Connector {
  const open = createOpener(target, trust);
  const connectEvent = target.protocol === 'https:' ? 'secureConnect' : 'connect';
  return function connect(whenConnected, whenFailed, onBytes = ignore) {
    const socket = open({ onread: intoOnePiece(onBytes) });
    // A connection that was made in time counts, even if the process was held up and hears of it late.
    const stopWaiting = afterReading(timeoutMs, () => fail(new ConnectTimeout(timeoutMs)));
    socket.once('error', fail).once(connectEvent, () => {
      settle();
      whenConnected(socket);
    });

    function settle(): void {
      stopWaiting();
      socket.off('error', fail);
    }

    function fail(error: Error): void {
      settle();
      // What happens to it once it is given up is nobody's concern.
      socket.on('error', ignore);
      socket.destroy();
      whenFailed(error);
    }
  };
}

function ignore(): void {}

/** How long a connection is silent before the kernel asks whether the other side is still there. */
export const probeAfterMs = 60_000;

/**
 * All connections are read into this one: the callback is done with it before the next read. Left to Node, each read would get
 * memory of its own, a tenth of what it costs to pass on a small answer.
 */
const piece = Buffer.allocUnsafeSlow(64 * 1024);

function intoOnePiece(onBytes: (bytes: Buffer) => void): OnReadOpts {
  return {
    buffer: piece,
    callback: (length) => {
      onBytes(length === piece.length ? piece : piece.subarray(0, length));
      return true;
    },
  };
}

/** Begins a connection to one target, for either lane. */
export type Opener = (reading?: { readonly onread: OnReadOpts }) => Socket;

export function createOpener(target: URL, trust: Trust): Opener {
  const open = target.protocol === 'https:' ? secureOpener(target, trust) : plainOpener(target);
  return (reading) => open(reading).setNoDelay(true).setKeepAlive(true, probeAfterMs);
}

function plainOpener(target: URL): Opener {
  const address = addressOf(target);
  return (reading) => openByName((lookup) => connectTcp({ ...address, lookup, ...reading }));
}

/**
 * The name to verify is the target's own, and an empty one for an address: never that of the Host header, which with `preserveHost`
 * is the client's to choose. Every guarantee about framing is made and tested for HTTP/1.1, so no other protocol is offered.
 * NODE_TLS_REJECT_UNAUTHORIZED=0 in the environment would have nothing verified.
 */
function secureOpener(target: URL, trust: Trust): Opener {
  const address = addressOf(target);
  const servername = serverNameOf(address.host) ?? '';
  const options = { ...address, servername, ALPNProtocols: ['http/1.1'], rejectUnauthorized: true, ...trust };
  let session: Buffer | undefined;
  return (reading) => {
    const socket = openByName((lookup) => connectTls({ ...options, session, lookup, ...reading }));
    // A session makes the next handshake shorter. It is forgotten when a connection closes that never came about, for whatever reason:
    // a server that refuses a session, or leaves it unanswered, would do so each time.
    return socket
      .on('session', (offered: Buffer) => (session = offered))
      .once('close', () => {
        if (!socket.authorized) session = undefined;
      });
  };
}
