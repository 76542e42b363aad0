import type { IncomingMessage, ServerResponse } from 'node:http';
import { Writable } from 'node:stream';
import { type DestinationStream, type Logger, pino } from 'pino';
import { pinoHttp } from 'pino-http';
import { LineBuffer } from './line-buffer.ts';
import { catalogue, Refusal } from '../refusals.ts';
import type { LogFormat, LogLevel } from '../config/config.ts';
import { openStandardOutput } from './standard-output.ts';
import { statusOf, type Visit } from '../visit.ts';

export type { Logger } from 'pino';

export interface Log {
  readonly logger: Logger;
  /** What `auto` came to. */
  readonly format: Exclude<LogFormat, 'auto'>;
  /** Writes whole lines of another process as they are. */
  readonly relay: (lines: string) => void;
  /** Writes out what is buffered; gives up on a pipe that does not take it. */
  readonly flush: () => Promise<void>;
}

/** Logs to standard output: buffered JSON lines, or readable ones on a terminal. */
export async function createLog(level: LogLevel, format: LogFormat): Promise<Log> {
  const pretty = format === 'pretty' || (format === 'auto' && process.stdout.isTTY);
  const out = openStandardOutput();
  const lines = new LineBuffer(out.write);
  return {
    logger: createLogger(level, pretty ? await prettyStream(lines) : lines),
    format: pretty ? 'pretty' : 'json',
    relay: (text) => lines.write(text),
    flush: () => {
      lines.handOver();
      return out.flush();
    },
  };
}

/** The one logger of the gateway, whatever it writes to. */
export function createLogger(level: LogLevel, destination: DestinationStream): Logger {
  const formatters = { level: levelAsWord };
  return pino({ level, base: null, timestamp: timeField, formatters }, destination);
}

const lastTime = { ms: Number.NaN, field: '' };

/** The time in ISO 8601, as pino puts it into a line. Under load many lines share a millisecond. */
function timeField(): string {
  const ms = Date.now();
  if (ms !== lastTime.ms) {
    lastTime.ms = ms;
    lastTime.field = `,"time":"${new Date(ms).toISOString()}"`;
  }
  return lastTime.field;
}

/** A text without what is secret in it. */
export type Withhold = (text: string) => string;

/** Writes the line of a request when it is over. */
type LogAccess = (req: IncomingMessage, res: ServerResponse) => void;

/** One line per request, made of an allow-list of fields. Header values other than the user agent are never looked at. */
export function createAccessLog(logger: Logger, withhold: Withhold): LogAccess {
  const logAccess = pinoHttp({
    logger: lineWriter(logger),
    genReqId: (req) => req.visit.id,
    customLogLevel: (req) => levelOf(req.visit),
    customSuccessObject: (req, res) => accessLine(req, res, withhold),
    customErrorObject: (req, res) => accessLine(req, res, withhold),
    customSuccessMessage: (req) => messageOf(req.visit),
    customErrorMessage: (req) => messageOf(req.visit),
  });
  return function listen(req, res) {
    req.allLogs = noLoggers;
    res.allLogs = noLoggers;
    logAccess(req, res);
  };
}

/**
 * pino-http keeps two lists of loggers for each request. All requests have the same one here, and the lists would be 350 bytes more that
 * live as long as a request does (record 32).
 */
class NoLoggers extends Array<Logger> {
  override push(): number {
    return 0;
  }
}

const noLoggers = new NoLoggers();

/**
 * pino-http makes two child loggers for every request and writes out the request for them, though one line at the end says
 * it all. A logger that is its own child spares the gateway that: 6 % of its time under load. It writes a line in one
 * go, where pino writes each name and value on its own: another 2 %, with what app.ts saves.
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

/** What is said of a request in the log, beside what pino adds. The README has a table of it. */
export function accessLine(req: IncomingMessage, res: ServerResponse, withhold: Withhold): object {
  const visit = req.visit;
  const agent = req.headers['user-agent'];
  return {
    requestId: visit.id,
    keyId: visit.keyId,
    plan: visit.plan,
    route: visit.route,
    method: req.method,
    path: visit.path && withhold(visit.path),
    status: statusOf(visit, res),
    refusal: visit.refusal,
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

const levels = { client: 'info', upstream: 'warn', load: 'warn', gateway: 'error' } as const;

function levelOf(visit: Visit): 'info' | 'warn' | 'error' {
  if (visit.cut === 'upstream' || visit.cut === 'gateway') return 'warn';
  if (visit.refusal === undefined) return 'info';
  const { fault } = catalogue[visit.refusal];
  return levels[fault];
}

function messageOf(visit: Visit): string {
  if (visit.refusal !== undefined) return 'refused';
  return visit.cut === undefined ? 'answered' : 'cut short';
}

/** What may be said of an error in a log: never its own properties, which can carry arguments, headers or bodies. */
export function describeCause(cause: unknown): {
  type: string;
  message: string;
  code?: string;
  stack?: string;
} {
  if (!(cause instanceof Error)) return { type: typeof cause, message: 'not an error' };
  const code = 'code' in cause && typeof cause.code === 'string' ? { code: cause.code } : {};
  const expected = cause instanceof Refusal || 'code' in code;
  const stack = expected || cause.stack === undefined ? {} : { stack: cause.stack };
  return { type: cause.name, message: messageIn(cause), ...code, ...stack };
}

/** A name with several addresses fails with an error for each, and none of its own. */
function messageIn(cause: Error): string {
  if (cause.message !== '' || !(cause instanceof AggregateError)) return cause.message;
  const errors: readonly unknown[] = cause.errors;
  return errors.flatMap((error) => (error instanceof Error ? error.message : [])).join('; ');
}

/** Tells of a store that was made, because the old one may be somewhere else, and of one that will fill its disk. */
export function storeReporter(logger: Logger) {
  return {
    onCreate(file: string): void {
      logger.info({ file }, 'a new store was made');
    },
    onLogStuck(reason: string): void {
      logger.warn({ reason }, 'the -wal file of the store grows, because it cannot be copied into the store');
    },
    onEmptied(): void {
      logger.error('the store has lost its list of changes, and with it perhaps keys and usage');
    },
  };
}

function round(ms: number): number {
  return Math.round(ms * 100) / 100;
}

function levelAsWord(label: string): { level: string } {
  return { level: label };
}

/** Each line is shown as soon as it is there: somebody is watching. */
async function prettyStream(lines: LineBuffer): Promise<DestinationStream> {
  const { build } = await import('pino-pretty');
  const destination = new Writable({
    decodeStrings: false,
    write(text: string, _encoding, done) {
      lines.write(text);
      lines.handOver();
      done();
    },
  });
  const colorize = process.stdout.isTTY && process.stdout.hasColors();
  return build({ destination, colorize, sync: true, singleLine: true });
}
