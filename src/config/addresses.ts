import { BlockList, isIP, isIPv4, isIPv6 } from 'node:net';
import type { Address } from './config.ts';

const everyInterface = '0.0.0.0';
const written = /^(?:(?:\[(?<six>[^\]]+)\]|(?<host>[^:[\]]*)):)?(?<port>\d{1,5})$/;
const hostName =
  /^(?=.{1,253}$)[A-Za-z0-9](?:[A-Za-z0-9-]*[A-Za-z0-9])?(?:\.[A-Za-z0-9](?:[A-Za-z0-9-]*[A-Za-z0-9])?)*$/;
const numeric = /^[\d.]+$/;

const loopback = new BlockList();
loopback.addSubnet('127.0.0.0', 8, 'ipv4');
loopback.addAddress('::1', 'ipv6');

/** `host:port`, `[ipv6]:port`, `:port` or a bare port; without a host it is every IPv4 interface. */
export function parseAddress(text: string | number): Address | undefined {
  const parts = written.exec(String(text))?.groups;
  const port = Number(parts?.['port']);
  if (parts === undefined || !(port <= 65_535)) return undefined;
  const { six, host } = parts;
  if (six !== undefined) return isIPv6(six) ? { host: inOneForm(six), port } : undefined;
  if (host === undefined || host === '') return { host: everyInterface, port };
  const fine = isIPv4(host) || (hostName.test(host) && !numeric.test(host));
  return fine ? { host, port } : undefined;
}

/** An IPv6 address as a URL writes it: `0::0` is `::`. One with a zone stays as it is. */
function inOneForm(six: string): string {
  return six.includes('%') ? six : new URL(`http://[${six}]`).hostname.slice(1, -1);
}

/** Where a URL leads: a host without the brackets of IPv6, and the port of its protocol if it names none. */
export function addressOf({ protocol, hostname, port }: URL): Address {
  return { host: hostname.replace(/^\[|\]$/g, ''), port: Number(port || (protocol === 'https:' ? 443 : 80)) };
}

/** Whether only this machine can reach the address. A host name other than `localhost` counts as public. */
export function isLoopback(address: Address): boolean {
  const family = isIP(address.host);
  if (family === 0) return address.host.toLowerCase() === 'localhost';
  return loopback.check(address.host, family === 6 ? 'ipv6' : 'ipv4');
}

/** Whether two listeners on these addresses would get in each other's way. Port 0 is a free one each time. */
export function addressesCollide(one: Address, other: Address): boolean {
  if (one.port === 0 || one.port !== other.port) return false;
  const [host, otherHost] = [byNumber(one.host), byNumber(other.host)];
  return host === otherHost || takesAllWith(one, otherHost) || takesAllWith(other, host);
}

/** Whether what is sent to an address comes to the listener. Of all addresses of this machine only loopback is known. */
export function leadsTo(listener: Address, { host, port }: Address): boolean {
  if (port !== listener.port) return false;
  const isHere = isLoopback({ host, port }) && takesAllWith(listener, host);
  return isHere || byNumber(host) === byNumber(listener.host);
}

/**
 * The name that a TLS server at this host is told, to choose its certificate by: none for an address, and never the dot that may
 * end an absolute name (RFC 6066 §3).
 */
export function serverNameOf(host: string): string | undefined {
  return isIP(host) === 0 ? host.replace(/\.$/, '') : undefined;
}

/**
 * Whether the text is one IP address, or a block of them such as `10.0.0.0/8`, each number without needless zeros. `10.0.0.1/8` is
 * neither: somebody may have meant that address alone, and would let in sixteen million.
 */
export function isNetwork(text: string): boolean {
  const [address = '', prefix, ...rest] = text.split('/');
  if (isIP(address) === 0 || address.includes('%') || rest.length > 0) return false;
  if (prefix === undefined) return true;
  if (!/^(?:0|[1-9]\d{0,2})$/.test(prefix)) return false;
  const bits = bitsOf(address);
  return Number(prefix) <= bits.length && !bits.includes('1', Number(prefix));
}

/** What is said of any other text. */
export const notNetwork =
  'is not a network, write an address, or a block by its first address such as 10.0.0.0/8';

function bitsOf(address: string): string {
  const [groups, width] = isIPv6(address)
    ? [groupsOf(address).map((group) => `0x${group}`), 16]
    : [address.split('.'), 8];
  return groups.map((group) => Number(group).toString(2).padStart(width, '0')).join('');
}

/** The eight groups of an IPv6 address without a zone, in lower case and without needless zeros. */
export function groupsOf(address: string): string[] {
  // A URL leaves at most one run of groups out, and has none in dotted form (RFC 5952).
  const [before = [], after = []] = inOneForm(address)
    .split('::')
    .map((half) => (half === '' ? [] : half.split(':')));
  return [...before, ...Array<string>(8 - before.length - after.length).fill('0'), ...after];
}

/** An address as it is written, with brackets around IPv6. */
export function printAddress({ host, port }: Address): string {
  return isIPv6(host) ? `[${host}]:${port}` : `${host}:${port}`;
}

function byNumber(host: string): string {
  const name = host.toLowerCase();
  return name === 'localhost' ? '127.0.0.1' : name;
}

/** Whether a listener takes every interface, that of the host among them. The one of IPv4 leaves those of IPv6 to others. */
function takesAllWith(listener: Address, host: string): boolean {
  return listener.host === '::' || (listener.host === everyInterface && !isIPv6(host));
}
