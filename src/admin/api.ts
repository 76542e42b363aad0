import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { AdminToken, Config } from '../config/config.ts';
import { withNothingChanged } from '../stores/store-unavailable.ts';
import { describeCause, type Logger } from '../telemetry/log.ts';
import { openDesk, type DeskStore } from './desk.ts';
import { isBodyRequired, type Call, type Operation } from './operation.ts';
import { allowedOf, findOperations } from './operations.ts';
import { AdminProblem, problemOf } from './problem.ts';
import {
  readIfMatch,
  readJsonBody,
  readLines,
  readMark,
  readTarget,
  refuseBody,
  type SentLines,
} from './read-request.ts';
import { readQuery, readValues, type Fields } from './read-values.ts';
import { sendAnswer, type Answer } from './send-answer.ts';
import { Stopping } from './stopping.ts';

/** As in the access log, for a client that did not wait for its answer. */
const statusOfGone = 499;

/** The key exists. With any other refusal the id may not be one: a secret may have been put in its place. */
const statusesOfKnown: ReadonlySet<number> = new Set([409, 412]);

export interface ApiParts {
  /** The configuration that is in force. */
  readonly configInForce: () => Config;
  /** Undefined where there are no tokens, so that nothing can be administered. */
  readonly store: DeskStore | undefined;
  readonly logger: Logger;
}

/** The admin API on a store. */
export class Api {
  readonly #parts: ApiParts;
  readonly #stopping = new Stopping();
  readonly #underWay = new Set<Promise<void>>();
  /** The last request of each connection. */
  readonly #lastOn = new WeakMap<Socket, Promise<void>>();

  constructor(parts: ApiParts) {
    this.#parts = parts;
  }

  /** Answers a request that has shown this token; undefined where the gateway has none. */
  async answer(req: IncomingMessage, res: ServerResponse, token: AdminToken | undefined): Promise<void> {
    // A client that sends several ahead means them in this order (RFC 9112 §9.3.2).
    const ahead = this.#lastOn.get(req.socket) ?? Promise.resolve();
    const work = ahead.then(() => this.#serve(req, res, token));
    this.#lastOn.set(req.socket, work);
    this.#underWay.add(work);
    await work.finally(() => this.#underWay.delete(work));
  }

  /** Takes nothing more, not even the rest of what is being sent, and resolves once all it had taken is done. */
  async drain(): Promise<void> {
    this.#stopping.begin();
    await Promise.allSettled(this.#underWay);
  }

  async #serve(req: IncomingMessage, res: ServerResponse, token: AdminToken | undefined): Promise<void> {
    try {
      sendAnswer(res, await this.#perform(req, res, token));
    } catch (error) {
      // A client that broke off gets no answer, and is not our fault.
      if (hasLeft(req, error)) return;
      const problem = problemOf(error);
      if (problem.code === 'internal')
        this.#parts.logger.error({ cause: describeCause(error) }, 'a fault in the admin API');
      sendAnswer(res, problem);
    }
  }

  async #perform(req: IncomingMessage, res: ServerResponse, token: AdminToken | undefined): Promise<Answer> {
    const { configInForce, store } = this.#parts;
    if (token === undefined || store === undefined) throw apiOff();
    const { path, query } = readTarget(req.url ?? '');
    const { id, found } = findOperations(path);
    const allowed = { Allow: allowedOf(found) };
    if (req.method === 'OPTIONS') return { status: 204, headers: allowed };
    const operation = found.find(({ method }) => method === (req.method === 'HEAD' ? 'GET' : req.method));
    if (operation === undefined) {
      throw new AdminProblem('method_not_allowed', 'Method not allowed', { headers: allowed });
    }
    const asked = { operation, id, query, actor: token.name };
    const isWrite = operation.role === 'write';
    try {
      if (isWrite && token.role !== 'write') {
        throw new AdminProblem('read_only', 'This token may read and not write');
      }
      const call = await this.#stopping.orStop(() => readCall(req, res, asked));
      const chunks = this.#stopping.untilBegun(call.lines.chunks);
      const desk = openDesk(configInForce(), store);
      const result = await operation.handle({ ...call, lines: { ...call.lines, chunks } }, desk);
      if (isWrite)
        this.#tell(asked, result.status, id === '' ? result.headers?.['Location']?.split('/').at(-1) : id);
      return result;
    } catch (error) {
      if (!isWrite) throw withNothingChanged(error);
      const status = hasLeft(req, error) ? statusOfGone : problemOf(error).status;
      this.#tell(asked, status, id !== '' && statusesOfKnown.has(status) ? id : undefined);
      throw error;
    }
  }

  /** One line for each request that would change something, done or refused. */
  #tell({ actor, operation }: Asked, status: number, keyId: string | undefined): void {
    const about = { actor, operation: operation.id, keyId, status };
    this.#parts.logger.info(about, 'an operator asked for a change');
  }
}

/** Whether the path belongs to the API, known or not. */
export function isApiPath(target: string): boolean {
  return /^\/v1(?:[/?]|$)/.test(target);
}

/** Also of a client whose body was all there, and was still being read when it left. */
function hasLeft(req: IncomingMessage, error: unknown): boolean {
  return req.destroyed && (!req.complete || error === req.errored);
}

interface Asked {
  readonly operation: Operation;
  readonly id: string;
  readonly query: string;
  readonly actor: string;
}

async function readCall(
  req: IncomingMessage,
  res: ServerResponse,
  asked: Asked,
): Promise<Call<Fields, Fields>> {
  const { operation, id, actor } = asked;
  const { body, conditional, repeatable } = operation;
  const query = readValues(operation.query, readQuery(asked.query, operation.query), { kind: 'parameter' });
  const versions = conditional ? readIfMatch(req) : undefined;
  if (body.kind === 'none') await refuseBody(req, res);
  const isJson = body.kind === 'key' || body.kind === 'values';
  const content = isJson ? await readJsonBody(req, res, { required: isBodyRequired(body) }) : {};
  const values =
    body.kind === 'values'
      ? readValues(body.fields, content, { required: body.required, kind: 'field' })
      : {};
  return {
    id,
    query,
    body: values,
    written: content,
    lines: body.kind === 'lines' ? readLines(req, res) : noLines,
    by: { actor, versions },
    mark: repeatable ? readMark(req, { operation: operation.id, actor, content }) : undefined,
  };
}

const noLines: SentLines = { chunks: (async function* none() {})(), form: 'json' };

function apiOff(): AdminProblem {
  return new AdminProblem(
    'api_off',
    'Keys cannot be administered here: set admin.token or admin.tokens in the configuration, and restart',
  );
}
