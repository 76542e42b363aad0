import type { IncomingMessage } from 'node:http';
import { isIP, isIPv6, SocketAddress, type Socket } from 'node:net';
import type { Origin } from '../visit.ts';
import { networksOf } from './networks.ts';

export type FindOrigin = (req: IncomingMessage) => Origin;

/**
 * Reads `X-Forwarded-For` from the right, past proxies that are trusted, to the first address that is not. The leftmost
 * entries are whatever the client chose to write, and are never used.
 */
export function createOriginFinder(trustProxy: readonly string[]): FindOrigin {
  const trusted = networksOf(trustProxy);

  return function findOrigin(req) {
    const peer = peerOf(req.socket);
    if (trustProxy.length === 0 || !trusted.has(peer)) return { peer, client: peer, trusted: false };
    const list = String(req.headers['x-forwarded-for'] ?? '');
    let client = peer;
    // No further than it is believed: in front of what proxies add a client may have written thousands.
    for (let end = list.length; end > 0;) {
      const comma = list.lastIndexOf(',', end - 1);
      const hop = withoutPort(list.slice(comma + 1, end).trim());
      // A zone (RFC 4007) means something only on its own machine.
      if (isIP(hop) === 0 || hop.includes('%')) break;
      client = writeAddress(hop);
      if (!trusted.has(client)) break;
      end = comma;
    }
    return { peer, client, trusted: true };
  };
}

/** Some proxies write the port too: `192.0.2.1:4711`, and for IPv6 `[2001:db8::1]:4711` (RFC 7239 §6 names both forms). */
function withoutPort(hop: string): string {
  const form = /^(?:\[([^\]]*)\]|([\d.]+))(?::\d{1,5})?$/.exec(hop);
  return form?.[1] ?? form?.[2] ?? hop;
}

/** An address as clients are known by it, however it was written. */
export function writeAddress(written: string): string {
  return plain(asSocketsWrite(written));
}

/** No zone: `isIPv6` takes any, but `SocketAddress` throws. */
const mayStandForIPv4 = /^[0:]+:ffff:[\da-f.:]+$/i;

/** Proxies have many ways to write an IPv4 address as IPv6, and sockets have one. Any other address stays as it is written. */
function asSocketsWrite(hop: string): string {
  if (!mayStandForIPv4.test(hop) || !isIPv6(hop)) return hop;
  return new SocketAddress({ address: hop, family: 'ipv6' }).address;
}

/** The address at the other end, as it is written everywhere. The door takes no connection without one. */
export function peerOf({ remoteAddress }: Socket): string {
  return plain(remoteAddress ?? 'unknown');
}

/** An IPv4 address that arrived on an IPv6 socket is written as IPv4. */
function plain(address: string): string {
  return address.startsWith('::ffff:') && address.includes('.') ? address.slice(7) : address;
}
