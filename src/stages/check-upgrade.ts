import type { IncomingMessage } from 'node:http';
import type { Route } from '../config/config.ts';
import { Refusal } from '../refusals.ts';
import type { Handshake } from '../upstream/handshake.ts';
import { valueOf } from '../wire/headers.ts';
import type { Head } from './check-request.ts';

/**
 * Head + Route → Handshake, or undefined when nobody asks for an upgrade. 400.
 * Only WebSockets (RFC 6455) get through, and only where the route says so: any other protocol would carry requests past
 * everything that is checked here (h2c smuggling).
 */
export function checkUpgrade(req: IncomingMessage, head: Head, route: Route): Handshake | undefined {
  if (head.upgrade === undefined) return undefined;
  const { httpVersion, rawHeaders } = req;
  const rule = route.upgrade;
  if (rule === undefined || head.upgrade.toLowerCase() !== 'websocket') throw new Refusal('upgrade_refused');
  if (head.contentLength !== 0 || head.expectsContinue) throw new Refusal('body_unexpected');
  if (head.method !== 'GET' || httpVersion !== '1.1' || !asksForUpgrade(rawHeaders)) throw malformed();
  if (valueOf(rawHeaders, 'sec-websocket-version') !== '13') {
    throw new Refusal('upgrade_malformed', {
      message: 'Only version 13 of the WebSocket protocol is spoken here',
      headers: { 'Sec-WebSocket-Version': '13' },
    });
  }
  const key = valueOf(rawHeaders, 'sec-websocket-key');
  if (key === undefined || !keyForm.test(key)) throw malformed();
  return { key, ...rule };
}

/** Sixteen bytes in base64. */
const keyForm = /^[A-Za-z0-9+/]{22}==$/;

function asksForUpgrade(rawHeaders: readonly string[]): boolean {
  const options = valueOf(rawHeaders, 'connection')?.toLowerCase().split(',') ?? [];
  return options.some((option) => option.trim() === 'upgrade');
}

function malformed(): Refusal {
  return new Refusal('upgrade_malformed');
}
