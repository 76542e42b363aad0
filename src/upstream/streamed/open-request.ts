import type { Agent, ClientRequest } from 'node:http';
import { createRequire } from 'node:module';
import { Socket } from 'node:net';
import { Stream } from 'node:stream';
import type ProxyServer from 'http-proxy';
import { addressOf } from '../../config/addresses.ts';
import { http } from '../../wire/http.ts';
import { answerHeadersMax } from '../read-answer-head.ts';

/** A request to one target, complete but for its body. */
interface OpenRequest {
  readonly method: string;
  /** Path and query, as they were matched. */
  readonly path: string;
  /** Flat as Node's `rawHeaders` is, `Host` and the framing of the body among them. */
  readonly headers: readonly string[];
  readonly target: URL;
  readonly agent: Agent;
  /** The request failed, before its answer or during it. */
  readonly onError: (error: Error) => void;
}

/**
 * Opens a request with http-proxy 1.18.1, which is unmaintained, so it is left nothing to decide. It is given a request of our own
 * making with finished headers, because its `proxyReq` hook is skipped when a request has `Expect` (node-http-proxy #1219), and a
 * body that only takes over the outgoing request: writing, answering, failing, leaving and upgrading are left to the caller. So no
 * answer can end the process (#1530, #1080), and no client that leaves keeps an upstream busy (#1559) or its answer in memory
 * (#1586). Nothing is sent before the body of the request or its end is written.
 */
export function openRequest({ method, path, headers, target, agent, onError }: OpenRequest): ClientRequest {
  const message = new http.IncomingMessage(idleSocket);
  message.method = method;
  message.url = path;
  message.headers = toObject(headers);
  const takeover = new Takeover();
  const { protocol, port } = target;
  const { host } = addressOf(target);
  const options = { target: { protocol, host, port }, agent, buffer: takeover };
  proxy.web(message, new http.ServerResponse(message), options, onError);
  const outgoing = takeover.outgoing;
  if (outgoing === undefined) throw new Error('http-proxy opened no request');
  // http-proxy joins slashes and completes `http:/` inside a path; these are the bytes that were checked and matched.
  outgoing.path = path;
  // Node hides headers beyond its maximum count (CVE-2026-58044); we bound their size instead. http-proxy passes on no option for
  // that.
  outgoing.maxHeadersCount = 0;
  Reflect.set(outgoing, 'maxHeaderSize', answerHeadersMax);
  // Whatever Node was told (--insecure-http-parser): the other lane is never lenient.
  Reflect.set(outgoing, 'insecureHTTPParser', false);
  return outgoing;
}

/** Not made with the first request: by then the process may have no file left to open, and a module that could not be read stays unread. */
const proxy = loadHttpProxy().createProxyServer({ selfHandleResponse: true, toProxy: true });
removeLengthPass(proxy);

/** Never connected and never destroyed: http-proxy keeps errors to itself when the socket of a request is gone. */
const idleSocket = new Socket();

/** Stands in for the body. http-proxy asks it to pipe at once, whatever the headers, and that is the handover. */
class Takeover extends Stream {
  outgoing: ClientRequest | undefined;

  override pipe<T extends NodeJS.WritableStream>(destination: T): T {
    this.outgoing = destination as unknown as ClientRequest;
    return destination;
  }
}

/**
 * The pass turns a chunked DELETE or OPTIONS into one of length 0 and still writes the body, which becomes the next request on the
 * connection (CVE-2026-29057).
 */
function removeLengthPass(made: ProxyServer): void {
  const passes = Reflect.get(made, 'webPasses') as readonly { readonly name: string }[];
  const kept = passes.filter(({ name }) => name !== 'deleteLength');
  if (kept.length !== passes.length - 1)
    throw new Error('http-proxy has no pass that is called deleteLength');
  Reflect.set(made, 'webPasses', kept);
}

/** Without the warning that its use of `util._extend` would print (DEP0060). */
function loadHttpProxy(): typeof ProxyServer {
  const require = createRequire(import.meta.url);
  const util = require('node:util') as object;
  const original: unknown = Reflect.get(util, '_extend');
  Reflect.set(util, '_extend', Object.assign);
  try {
    return require('http-proxy') as typeof ProxyServer;
  } finally {
    Reflect.set(util, '_extend', original);
  }
}

/** Repeated headers become lists under the first spelling of their name, which Node sends as separate lines. */
function toObject(flat: readonly string[]): Record<string, string | string[]> {
  const spellings = new Map<string, string>();
  const values = new Map<string, string[]>();
  for (let i = 0; i + 1 < flat.length; i += 2) {
    const name = flat[i] as string;
    const spelling = spellings.getOrInsert(name.toLowerCase(), name);
    values.getOrInsert(spelling, []).push(flat[i + 1] as string);
  }
  // An object cannot hold this name like any other, and no server needs it.
  values.delete('__proto__');
  const entries = [...values].map(([name, list]) => [name, list.length === 1 ? (list[0] as string) : list]);
  return Object.fromEntries(entries) as Record<string, string | string[]>;
}
