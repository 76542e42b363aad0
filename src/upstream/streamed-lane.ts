import type { Agent, AgentOptions, ServerResponse } from 'node:http';
import { Agent as HttpsAgent } from 'node:https';
import { isIP } from 'node:net';
import type { UpstreamConfig } from '../config/config.ts';
import { http } from '../http.ts';
import { createRequestOpener, type RequestOpener } from './open-request.ts';
import { type LaneParts, StreamedExchange, type StreamedRequest } from './streamed-exchange.ts';

/** The way to one target for bodies that are not in memory, and for WebSockets. */
export interface StreamedLane {
  /** Settles as the relay does: with an Outcome, or with ExchangeFailed while the client has seen nothing. */
  send(request: StreamedRequest, res: ServerResponse, parts: LaneParts): void;
  close(): void;
}

export function createStreamedLane(target: URL, config: UpstreamConfig): StreamedLane {
  let open: RequestOpener | undefined;
  const agent = createAgent(target, config, { keepAlive: true, maxSockets: config.connections });
  // WebSockets last, so they have connections of their own and are bounded by their routes.
  const switchAgent = createAgent(target, config, { keepAlive: false });
  return {
    send(request, res, parts) {
      open ??= createRequestOpener();
      const opener = open;
      // One turn of the loop before a kept connection is taken: what an upstream sent on it unasked is found out by then
      // and not taken for the answer (CVE-2026-48931).
      setImmediate(() => {
        const exchange = new StreamedExchange(request, res, { parts, timeouts: config.timeouts });
        const through = request.switching === undefined ? agent : switchAgent;
        exchange.begin((onError) => opener({ ...request, target, agent: through, onError }));
      });
    },
    close: () => {
      agent.destroy();
      switchAgent.destroy();
    },
  };
}

// --- Internal ---

/** Less than what servers commonly keep an idle connection, so that they seldom close one under a request. */
const idleConnectionMs = 4000;

function createAgent(target: URL, { ca }: UpstreamConfig, bounds: AgentOptions): Agent {
  const options = { ...bounds, maxFreeSockets: 32, timeout: idleConnectionMs };
  if (target.protocol === 'http:') return new http.Agent(options);
  const hostname = target.hostname.replace(/^\[|\]$/g, '');
  // Node would take the name to verify from the Host header, which with `preserveHost` is the client's to choose.
  const servername = isIP(hostname) === 0 ? hostname : '';
  return new HttpsAgent({ ...options, servername, ...(ca === undefined ? {} : { ca }) });
}
