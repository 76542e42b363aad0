import { Writable } from 'node:stream';
import { type DestinationStream, type Logger, pino } from 'pino';
import type { LogFormat, LogLevel } from '../config/config.ts';
import { codeOf } from '../content/error-code.ts';
import { printable } from '../content/printable.ts';
import { LineBuffer } from './line-buffer.ts';
import { openStandardOutput } from './standard-output.ts';

export type { Logger } from 'pino';

/** How lines look: those for people may have colours. */
export type LogForm = 'json' | 'pretty' | 'coloured';

export interface Log {
  readonly logger: Logger;
  /** What the format came to here. */
  readonly form: LogForm;
  /** Writes whole lines of another process as they are. */
  readonly relay: (lines: string) => void;
  /** How many lines were dropped so far, as nobody took them. */
  readonly lostLines: () => number;
  /** Writes out what is buffered; gives up on a pipe that does not take it. */
  readonly flush: () => Promise<void>;
}

/** Logs to standard output: buffered JSON lines, or readable ones on a terminal. */
export async function createLog(level: LogLevel, form: LogForm): Promise<Log> {
  const out = openStandardOutput();
  const lines = new LineBuffer(out.write);
  return {
    logger: createLogger(level, form === 'json' ? lines : await prettyStream(lines, form === 'coloured')),
    form,
    relay: (text) => lines.write(text),
    lostLines: out.lostLines,
    flush: () => {
      lines.handOver();
      return out.flush();
    },
  };
}

/** For the standard output of this process, which may be a terminal. */
export function formOf(format: LogFormat): LogForm {
  const { isTTY } = process.stdout;
  if (format === 'json' || (format === 'auto' && !isTTY)) return 'json';
  return isTTY && process.stdout.hasColors() ? 'coloured' : 'pretty';
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

/** What may be said of an error in a log: never its own properties, which can carry arguments, headers or bodies. */
export function describeCause(cause: unknown): {
  type: string;
  message: string;
  code?: string | undefined;
  stack?: string | undefined;
} {
  if (!(cause instanceof Error)) return { type: typeof cause, message: 'not an error' };
  const code = codeOf(cause);
  // An error with a code is one that was expected.
  const stack = code === undefined ? cause.stack : undefined;
  return { type: cause.name, message: messageIn(cause), code, stack };
}

/** A name with several addresses fails with an error for each, and none of its own; several targets fail with those of each. */
function messageIn(cause: Error): string {
  if (!(cause instanceof AggregateError)) return cause.message;
  const errors: readonly unknown[] = cause.errors;
  return errors.flatMap((error) => (error instanceof Error ? messageIn(error) : [])).join('; ');
}

function levelAsWord(label: string): { level: string } {
  return { level: label };
}

/** Each line is shown as soon as it is there: somebody is watching. */
async function prettyStream(lines: LineBuffer, colorize: boolean): Promise<DestinationStream> {
  const { build } = await import('pino-pretty');
  const destination = new Writable({
    decodeStrings: false,
    write(text: string, _encoding, done) {
      lines.write(text);
      lines.handOver();
      done();
    },
  });
  return build({ destination, colorize, singleLine: true, messageFormat });
}

/**
 * A request by what was asked for and what came of it, before all its fields; other lines have no path and no refusal. Not written
 * as a format: pino-pretty would take a `$'` in a path for what stands behind it.
 */
function messageFormat({ path, method, status, msg, refusal }: Readonly<Record<string, unknown>>): string {
  const asked = path === undefined ? [] : [method, path, status];
  const said = refusal === undefined ? [msg] : [msg, refusal];
  return printable([...asked, said.join(': ')].join(' '));
}
