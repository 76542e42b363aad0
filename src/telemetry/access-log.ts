import type { IncomingMessage, ServerResponse } from 'node:http';
import { type Logger, pino } from 'pino';
import { pinoHttp, startTime } from 'pino-http';
import { catalogue } from '../refusals.ts';
import { statusOf, type Visit } from '../visit.ts';
import { describeCause } from './log.ts';

/** A text with its secrets taken out. */
export type Withhold = (text: string) => string;

export interface AccessLog {
  /** Writes the line of a request when it is over. */
  readonly listen: (req: IncomingMessage, res: ServerResponse) => void;
  /** What pino-http gives to each request and response that has none: for their prototypes, since all would have the same. */
  readonly shared: {
    readonly log: Logger;
    readonly allLogs: readonly Logger[];
    /** Any time will do: how long a request took is known of its visit. */
    readonly [startTime]: number;
  };
}

/** One line per request, made of an allow-list of fields. Of its headers only the user agent and the trace are looked at. */
export function createAccessLog(logger: Logger, withhold: Withhold): AccessLog {
  const log = lineWriter(logger);
  const listen = pinoHttp({
    logger: log,
    genReqId: (req) => req.visit.id,
    customLogLevel: (req) => levelOf(req.visit),
    customSuccessObject: (req, res) => accessLine(req, res, withhold),
    customErrorObject: (req, res) => accessLine(req, res, withhold),
    customSuccessMessage: (req) => messageOf(req.visit),
    customErrorMessage: (req) => messageOf(req.visit),
  });
  return { listen, shared: { log, allLogs: new NoLoggers(), [startTime]: 1 } };
}

/** pino-http keeps two lists of loggers for each request: 350 bytes more that live as long as the request does (record 32). */
class NoLoggers extends Array<Logger> {
  override push(): number {
    return 0;
  }
}

/**
 * pino-http makes two child loggers for every request and writes out the request for them, though one line at the end says it all.
 * A logger that is its own child spares the gateway that: 6 % of its time under load. It writes a line in one go, where pino writes
 * each name and value on its own: another 2 %, with what app.ts saves.
 */
function lineWriter(logger: Logger): Logger {
  const own: Logger = Object.create(logger, {
    child: { value: () => own },
    [pino.symbols.asJsonSym]: { value: writeLine },
  });
  return own;
}

function writeLine(line: object, message: string, level: number, time: string): string {
  const fields = JSON.stringify(line).slice(1, -1);
  return `{"level":"${pino.levels.labels[level]}"${time},${fields},"msg":"${message}"}\n`;
}

/** What the log says about a request, besides what pino adds. docs/log.md has a table of it. */
export function accessLine(req: IncomingMessage, res: ServerResponse, withhold: Withhold): object {
  const visit = req.visit;
  const agent = req.headers['user-agent'];
  return {
    requestId: visit.id,
    traceId: traceIdOf(req),
    keyId: visit.keyId,
    keyHeader: visit.keyHeader,
    plan: visit.plan,
    route: visit.route,
    method: req.method,
    path: visit.path && withhold(visit.path),
    status: statusOf(visit, res),
    refusal: visit.refusal,
    keyProblem: visit.keyProblem,
    refusedKeyId: visit.refusedKeyId,
    mismatch: visit.mismatch?.slice(0, 256),
    cut: visit.cut,
    bytesIn: visit.bytesIn,
    bytesOut: visit.bytesOut,
    ms: round(visit.tookMs),
    upstreamMs: visit.upstreamMs === undefined ? undefined : round(visit.upstreamMs),
    upstream: visit.upstream,
    cost: visit.cost,
    owed: visit.owed || undefined,
    client: visit.origin.client,
    userAgent: agent && withhold(agent).slice(0, 256),
    cause: visit.cause === undefined ? undefined : describeCause(visit.cause),
  };
}

/** Of the trace that the upstream continues, if it would (W3C Trace Context, 3.2.2): nothing else gets into a line. */
function traceIdOf({ headers: { traceparent } }: IncomingMessage): string | undefined {
  if (traceparent === undefined) return undefined;
  return /^00-(?!0{32})([0-9a-f]{32})-(?!0{16})[0-9a-f]{16}-[0-9a-f]{2}$/.exec(String(traceparent))?.[1];
}

const levels = { client: 'info', upstream: 'warn', load: 'warn', gateway: 'error' } as const;

function levelOf(visit: Visit): 'info' | 'warn' | 'error' {
  if (visit.cut === 'upstream' || visit.cut === 'gateway') return 'warn';
  if (visit.refusal === undefined) return 'info';
  return levels[visit.fault ?? catalogue[visit.refusal].fault];
}

function messageOf(visit: Visit): string {
  if (visit.refusal !== undefined) return 'refused';
  return visit.cut === undefined ? 'answered' : 'cut short';
}

function round(ms: number): number {
  return Math.round(ms * 100) / 100;
}
