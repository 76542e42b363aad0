import { Agent as HttpAgent, type ClientRequest, type IncomingMessage, type ServerResponse } from 'node:http';
import { Agent as HttpsAgent } from 'node:https';
import { isIP } from 'node:net';
import { TLSSocket } from 'node:tls';
import type { Dispatcher } from 'undici';
import type { UpstreamConfig } from '../config/config.ts';
import type { StreamedBody } from './body.ts';
import { ClientGone, NonsenseAnswer, ResponseTimeout, Stalled } from './failures.ts';
import { createRequestOpener, type RequestOpener } from './open-request.ts';
import { type ExchangeFailed, Relay, type RelayParts } from './relay.ts';

/** A request whose body is read while it is sent. */
export interface StreamedRequest {
  readonly method: string;
  readonly path: string;
  readonly headers: readonly string[];
  readonly body: StreamedBody;
}

/** The way to one target for bodies that are not in memory. */
export interface StreamedLane {
  /** Settles as the relay does: with an Outcome, or with ExchangeFailed while the client has seen nothing. */
  send(request: StreamedRequest, res: ServerResponse, parts: LaneParts): void;
  close(): void;
}

export type LaneParts = Omit<RelayParts, 'responseMs'>;

export function createStreamedLane(target: URL, config: UpstreamConfig): StreamedLane {
  let open: RequestOpener | undefined;
  const agent = createAgent(target, config);
  return {
    send(request, res, parts) {
      open ??= createRequestOpener();
      const opener = open;
      // One turn of the loop before a kept connection is taken: what an upstream sent on it unasked is found out by then
      // and not taken for the answer (CVE-2026-48931).
      setImmediate(() => {
        const exchange = new Exchange(request.body, res, { parts, timeouts: config.timeouts });
        exchange.begin((onError) => opener({ ...request, target, agent, onError }));
      });
    },
    close: () => agent.destroy(),
  };
}

// --- Internal ---

/** Less than what servers commonly keep an idle connection, so that they seldom close one under a request. */
const idleConnectionMs = 4000;

function createAgent(target: URL, { connections, ca }: UpstreamConfig): HttpAgent {
  const options = { keepAlive: true, maxSockets: connections, maxFreeSockets: 32, timeout: idleConnectionMs };
  if (target.protocol === 'http:') return new HttpAgent(options);
  const hostname = target.hostname.replace(/^\[|\]$/g, '');
  // Node would take the name to verify from the Host header, which with `preserveHost` is the client's to choose.
  const servername = isIP(hostname) === 0 ? hostname : '';
  return new HttpsAgent({ ...options, servername, ...(ca === undefined ? {} : { ca }) });
}

const noDeadline = 0x7fffffff;
const restMs = 3000;

interface ExchangeParts {
  readonly parts: LaneParts;
  readonly timeouts: UpstreamConfig['timeouts'];
}

/**
 * One request and its answer. The body is read only once there is a connection, so a target that cannot be reached costs
 * nothing of it; and it is ended only when all of it passed, so what breaks a rule can never be taken for complete.
 */
class Exchange implements Dispatcher.DispatchController {
  readonly #body: StreamedBody;
  readonly #res: ServerResponse;
  readonly #relay: Relay;
  readonly #timeouts: UpstreamConfig['timeouts'];
  #outgoing: ClientRequest | undefined;
  #answer: IncomingMessage | undefined;
  #timer: NodeJS.Timeout | undefined;
  #over = false;
  /** All of the body was written. */
  #sent = false;
  /** The answer is complete; only the client is waited for. */
  #finishing = false;
  aborted = false;
  paused = false;
  reason: Error | null = null;
  rawHeaders: string[] = [];

  constructor(body: StreamedBody, res: ServerResponse, { parts, timeouts }: ExchangeParts) {
    this.#body = body;
    this.#res = res;
    this.#timeouts = timeouts;
    const settle = {
      resolve: (outcome: Parameters<LaneParts['settle']['resolve']>[0]) => {
        this.#stop();
        parts.settle.resolve(outcome);
      },
      reject: (failure: ExchangeFailed) => {
        this.#stop();
        parts.settle.reject(failure);
      },
    };
    // The relay's own deadline would run while the body is still arriving; ours starts when it has been sent.
    this.#relay = new Relay(res, { ...parts, settle, responseMs: noDeadline });
  }

  begin(open: (onError: (error: Error) => void) => ClientRequest): void {
    if (this.#res.destroyed) this.#relay.breakOff(new ClientGone());
    if (this.#over) return;
    try {
      this.#outgoing = open((error) => this.#fail(error));
    } catch (error) {
      this.#relay.breakOff(error instanceof Error ? error : new Error('the request could not be opened'));
      return;
    }
    this.#listen(this.#outgoing);
  }

  #listen(outgoing: ClientRequest): void {
    this.#arm(this.#timeouts.responseMs, (ms) => new ResponseTimeout(ms));
    outgoing.once('socket', (socket) => {
      const secure = socket instanceof TLSSocket;
      if (!socket.connecting && !(secure && !outgoing.reusedSocket)) return this.#connected();
      const { connectMs } = this.#timeouts;
      this.#arm(connectMs, (ms) => new Stalled(`no connection within ${ms} ms`));
      socket.once(secure ? 'secureConnect' : 'connect', () => this.#connected());
    });
    outgoing.once('response', (answer) => this.#receive(answer));
    outgoing.once('upgrade', (_answer, socket) => {
      socket.destroy();
      this.#fail(new NonsenseAnswer('it switched protocols and was not asked to'));
    });
    outgoing.once('close', () => this.#fail(new NonsenseAnswer('the connection closed before the answer')));
  }

  abort(reason: Error): void {
    this.aborted = true;
    this.reason = reason;
    this.#outgoing?.destroy();
  }

  pause(): void {
    this.paused = true;
    this.#answer?.pause();
    clearTimeout(this.#timer);
  }

  resume(): void {
    this.paused = false;
    this.#answer?.resume();
    this.#expectMore();
  }

  #connected(): void {
    if (this.#over) return;
    clearTimeout(this.#timer);
    this.#relay.onRequestStart(this);
    void this.#sendBody();
  }

  async #sendBody(): Promise<void> {
    const outgoing = this.#outgoing as ClientRequest;
    try {
      for await (const chunk of this.#body.read()) {
        if (outgoing.destroyed || this.#over) return;
        if (!outgoing.write(chunk)) await this.#drained(outgoing);
      }
    } catch (error) {
      // Destroyed and not ended: the upstream is left short of the declared length, or without the last chunk.
      outgoing.destroy();
      this.#relay.breakOff(error instanceof Error ? error : new Error('the body failed'));
      return;
    }
    if (outgoing.destroyed) return;
    outgoing.end();
    this.#sent = true;
    if (this.#answer === undefined) this.#arm(this.#timeouts.responseMs, (ms) => new ResponseTimeout(ms));
  }

  #drained(outgoing: ClientRequest): Promise<void> {
    const { idleMs } = this.#timeouts;
    return new Promise((resolve) => {
      const stalled = setTimeout(() => this.#giveUp(new Stalled(`took nothing for ${idleMs} ms`)), idleMs);
      const goOn = (): void => {
        clearTimeout(stalled);
        outgoing.off('drain', goOn).off('close', goOn);
        resolve();
      };
      outgoing.on('drain', goOn).on('close', goOn);
    });
  }

  #receive(answer: IncomingMessage): void {
    if (this.#over) return;
    this.#answer = answer;
    this.rawHeaders = answer.rawHeaders;
    // Of a body that nobody waits for the rest is still to come, so the connection cannot go on.
    if (!this.#res.req.complete) this.#res.shouldKeepAlive = false;
    this.#expectMore();
    answer.on('data', (chunk: Buffer) => {
      this.#relay.onResponseData(this, chunk);
      if (!this.paused) this.#expectMore();
    });
    answer.once('end', () => {
      if (answer.complete) void this.#finish();
    });
    answer.once('error', (error) => this.#fail(error));
    answer.once('close', () => this.#fail(new NonsenseAnswer('the answer broke off')));
    this.#relay.onResponseStart(this, answer.statusCode ?? 0);
  }

  /** An answer can be complete before the request is. Then the rest is not wanted, but the client has to get to read the answer. */
  async #finish(): Promise<void> {
    clearTimeout(this.#timer);
    if (!this.#sent) {
      this.#sent = true;
      this.#finishing = true;
      this.#outgoing?.destroy();
      await this.#body.release();
      await discardRest(this.#res.req);
    }
    this.#relay.onResponseEnd();
  }

  #expectMore(): void {
    if (this.#over || this.#finishing) return;
    this.#arm(this.#timeouts.idleMs, (ms) => new Stalled(`nothing more of the answer within ${ms} ms`));
  }

  #arm(ms: number, error: (ms: number) => Error): void {
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => this.#giveUp(error(ms)), ms);
  }

  #giveUp(error: Error): void {
    this.#relay.breakOff(error);
    this.#outgoing?.destroy();
  }

  #fail(error: Error): void {
    if (!this.#finishing) this.#relay.onResponseError(this, error);
  }

  #stop(): void {
    this.#over = true;
    clearTimeout(this.#timer);
    const outgoing = this.#outgoing;
    if (outgoing === undefined) return;
    // A connection is kept only when both sides are done with it.
    if (!outgoing.writableFinished || this.#answer?.complete !== true) outgoing.destroy();
  }
}

/** What still comes is thrown away for a while: closing on a client that is sending would reset its connection. */
async function discardRest(req: IncomingMessage): Promise<void> {
  if (req.complete || req.destroyed) return;
  await new Promise<void>((resolve) => {
    const patience = setTimeout(finish, restMs);
    function finish(): void {
      clearTimeout(patience);
      req.off('end', finish).off('close', finish);
      resolve();
    }
    req.on('end', finish).on('close', finish).resume();
  });
}
