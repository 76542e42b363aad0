import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Body } from '../bodies/body.ts';
import type { Route } from '../config/config.ts';
import { rebase } from '../config/rebase.ts';
import { pathBelow } from '../config/route-path.ts';
import { overloaded, Refusal } from '../refusals.ts';
import type { AnswerParts } from '../upstream/exchange.ts';
import { type Handshake, holdBytes } from '../upstream/handshake.ts';
import type { OpenSockets } from '../upstream/open-sockets.ts';
import type { Switching } from '../upstream/streamed/streamed-exchange.ts';
import type { Upstream } from '../upstream/upstream.ts';
import type { Origin, Visit } from '../visit.ts';
import { addHeaders, copyHeaders, type Passes } from '../wire/headers.ts';
import { hostForm } from '../wire/host-form.ts';
import { versionHeaders } from '../wire/version-headers.ts';
import type { Caller } from './authenticate.ts';
import type { Head } from './check-request.ts';

export interface Forwarding {
  readonly upstreams: ReadonlyMap<string, Upstream>;
  readonly passes: Passes;
  /** Add `Forwarded` (RFC 7239). */
  readonly forwarded: boolean;
  readonly sockets: OpenSockets;
}

/** Everything found out by the earlier stages that the upstream is told. */
interface Parcel {
  readonly head: Head;
  readonly caller: Caller;
  readonly route: Route;
  readonly body: Body;
  /** Undefined when the exchange stays HTTP. */
  readonly handshake: Handshake | undefined;
  /** Whose request it is, and where the exchange reports how it goes. */
  readonly visit: Visit;
  /** What an answer says about the caller's limits, as they are when this is called. */
  readonly tellLimits: () => Readonly<Record<string, string>>;
  readonly whenWhole: AnswerParts['whenWhole'];
}

/**
 * Parcel → the upstream, and its answer → the client. 499 502 503 504, and those of `readBody` for a body that streams.
 * The header list is built from scratch: what passes is copied, what is ours is set, so no client can speak in our name.
 */
export function forward(res: ServerResponse, parcel: Parcel, by: Forwarding): Promise<void> {
  const { head, route, body } = parcel;
  const { length } = body;
  const upstream = by.upstreams.get(route.upstream);
  if (upstream === undefined) throw new Error(`route ${route.name} names no upstream`);
  const headers: string[] = [];
  copyHeaders(res.req.rawHeaders, headers, by.passes);
  addIdentity(headers, parcel);
  addOrigin(headers, res.req, { parcel, forwarded: by.forwarded });
  if (length === undefined) headers.push('transfer-encoding', 'chunked');
  else if (length > 0 || methodsWithBody.has(head.method)) headers.push('content-length', String(length));
  const switching = openSwitch(res, parcel, by.sockets);
  if (switching !== undefined) headers.push('connection', 'Upgrade', 'upgrade', 'websocket');
  const request = {
    method: head.method,
    path: (route.rebase === undefined ? head.path : rebase(head.path, route.rebase)) + head.query,
    headers,
    body,
    host: head.host,
    ourHeaders: () => listOurHeaders(parcel),
    costHeader: route.costHeader,
    whenWhole: parcel.whenWhole,
    switching,
  };
  return upstream.send(request, res, parcel.visit);
}

/** The place of a WebSocket is taken before the upstream hears of it. */
function openSwitch(
  res: ServerResponse,
  { handshake, route }: Parcel,
  sockets: OpenSockets,
): Switching | undefined {
  if (handshake === undefined) return undefined;
  // It left while its key was being looked up: nothing would tell us to free its place.
  const { socket } = res.req;
  if (socket.destroyed) throw new Refusal('client_gone');
  const client = sockets.enter(route.path, handshake.socketsMax, res);
  if (client === undefined) throw overloaded({ detail: 'maxSockets of the route is reached' });
  return { client, handshake, putBack: holdBytes(socket) };
}

/** What the gateway adds to the answer. */
function listOurHeaders({ visit, route, tellLimits }: Parcel): readonly string[] {
  const headers = ['X-Request-Id', visit.id];
  addHeaders(headers, tellLimits());
  if (route.version !== undefined) addHeaders(headers, versionHeaders(route.version));
  return headers;
}

/** For these the absence of a body is said with `Content-Length: 0` (RFC 9110 §8.6). */
const methodsWithBody = new Set(['POST', 'PUT', 'PATCH']);

function addIdentity(headers: string[], { caller, visit }: Parcel): void {
  headers.push('x-gatehouse-key-id', caller.keyId, 'x-gatehouse-plan', caller.plan);
  if (caller.ownerHeader !== '') headers.push('x-gatehouse-owner', caller.ownerHeader);
  headers.push('x-request-id', visit.id);
}

function addOrigin(
  headers: string[],
  req: IncomingMessage,
  { parcel, forwarded }: { parcel: Parcel; forwarded: boolean },
): void {
  const { route, visit } = parcel;
  const { origin } = visit;
  const before = origin.trusted ? single(req.headers['x-forwarded-for']) : undefined;
  const host = told(origin, req.headers['x-forwarded-host'], hostForm) ?? parcel.head.host;
  // Traefik says `wss` of a WebSocket, by which some services do not know that its handshake came over TLS.
  const proto = told(origin, req.headers['x-forwarded-proto'], protoForm)?.replace(/^ws/i, 'http') ?? 'http';
  headers.push('x-forwarded-for', before === undefined ? origin.peer : `${before}, ${origin.peer}`);
  headers.push('x-forwarded-host', host, 'x-forwarded-proto', proto);
  if (route.rebase !== undefined) {
    const outer = told(origin, req.headers['x-forwarded-prefix'], prefixForm) ?? '/';
    headers.push('x-forwarded-prefix', pathBelow(outer, route.rebase.from));
  }
  if (forwarded) headers.push('forwarded', `for=${node(origin.client)};host="${host}";proto=${proto}`);
}

/** Even trusted proxies pass on what clients wrote: nothing is taken from them but a plain host, a scheme and a plain path. */
const protoForm = /^(?:https?|wss?)$/i;
/** Services put it in front of their links: `//host` would lead elsewhere. */
const prefixForm = /^(?:\/(?!\.{1,2}(?:\/|$))[\w.~-]+)+$/;

function told(origin: Origin, value: string | string[] | undefined, form: RegExp): string | undefined {
  const text = origin.trusted ? single(value) : undefined;
  return text !== undefined && form.test(text) ? text : undefined;
}

/** Node joins several lines of one name with commas: a list is right for addresses, and fits the form of no host or scheme. */
function single(value: string | string[] | undefined): string | undefined {
  return typeof value === 'string' && value !== '' ? value : undefined;
}

/** RFC 7239 §6: an IPv6 address is bracketed and quoted. */
function node(address: string): string {
  return address.includes(':') ? `"[${address}]"` : address;
}
