import { constants, createReadStream, fstatSync, openSync, statSync } from 'node:fs';
import { access, stat } from 'node:fs/promises';
import { Socket } from 'node:net';
import { isAbsolute } from 'node:path';
import { addAbortSignal } from 'node:stream';
import type { Config } from '../../config/config.ts';
import { whyUnreadable } from '../../config/read-text.ts';
import { counted } from '../../config/wording.ts';
import { nothingImported, type ImportReport } from '../../keys/imports/import-keys.ts';
import { readImport } from '../../keys/imports/read-import.ts';
import { BrokenFile } from '../../keys/key-problem.ts';
import { createKeyRules } from '../../keys/key-rules.ts';
import { readKeyFields } from '../../keys/read-key-fields.ts';
import { StoreUnavailable } from '../../stores/store-unavailable.ts';
import { atDesk, type CommandFlags, type TerminalDesk } from '../desk.ts';
import { endedBy, exitCodes } from '../exit-codes.ts';
import { echoMs } from '../signals.ts';
import type { Terminal } from '../terminal.ts';

interface ImportFlags {
  readonly plan?: string;
  readonly update?: boolean;
}

const standardInput = 0;
const shownMax = 200;
const progressEveryMs = 250;

/** `gatehouse keys import`: takes keys over from a file, or from standard input. */
export async function importKeys(file: string, options: CommandFlags & ImportFlags): Promise<number> {
  const check = async (config: Config): Promise<void> => {
    readKeyFields({ plan: options.plan }, createKeyRules(config));
    await requireReadable(file);
  };
  try {
    return await atDesk({ ...options, create: true, check }, (open) => takeOver(file, options, open));
  } catch (error) {
    if (!isFileFault(error)) throw error;
    process.stderr.write(`gatehouse: ${unnamed(file)} cannot be read: ${whyUnreadable(error)}\n`);
    return exitCodes.noInput;
  }
}

/** Reads nothing yet: from a pipe, that would be lost. A directory on standard input would be read as empty. */
async function requireReadable(file: string): Promise<void> {
  if (file !== '-') await access(file, constants.R_OK);
  const kind = file === '-' ? fstatSync(standardInput) : await stat(file);
  if (!kind.isDirectory()) return;
  throw Object.assign(new Error('a directory holds no lines'), { code: 'EISDIR', syscall: 'read' });
}

async function takeOver(
  file: string,
  options: CommandFlags & ImportFlags,
  { book, by, terminal }: TerminalDesk,
): Promise<number> {
  const progress = createProgress(terminal);
  const faults = createRemarks(progress, 'refused');
  const warnings = createRemarks(progress, 'warnings');
  let report = nothingImported;
  function end(): void {
    faults.end();
    warnings.end();
    progress.end();
    if (options.json === true) terminal.stdout.write(`${JSON.stringify(report)}\n`);
    else if (options.quiet !== true) terminal.stdout.write(`${summary(report)}\n`);
  }
  // Ctrl-C ends the file where it has been read to. A second one that is no echo ends the process.
  const stop = new AbortController();
  const onStop = (): void => {
    stop.abort();
    setTimeout(() => process.off('SIGINT', onStop), echoMs).unref();
  };
  process.on('SIGINT', onStop);
  try {
    const lines = readImport(
      file === '-' ? addAbortSignal(stop.signal, terminal.stdin) : chunksOf(file, stop.signal),
    );
    const whole = {
      update: options.update === true,
      plan: options.plan,
      onProgress(counts: ImportReport): void {
        report = counts;
        progress.show(counts);
      },
      onFault: (line: number, message: string) => faults.add(`line ${line}: ${message}`),
      onWarning: (line: number, message: string) => warnings.add(`line ${line}: warning: ${message}`),
    };
    await book.importKeys(lines, whole, by).finally(end);
    if (report.lines === 0) {
      terminal.stderr.write('gatehouse: there was no key to import\n');
      return exitCodes.failed;
    }
    return report.refused > 0 ? exitCodes.failed : exitCodes.ok;
  } catch (error) {
    if (error instanceof BrokenFile) {
      terminal.stderr.write(`gatehouse: ${error.message}\n`);
      return exitCodes.failed;
    }
    const isStopped = error instanceof Error && error.name === 'AbortError';
    if (isStopped || error instanceof StoreUnavailable) {
      terminal.stderr.write('Run it again to go on: what is there already is passed over.\n');
    }
    if (isStopped) return endedBy.SIGINT;
    throw error;
  }
}

/** Opened only when its first chunk is asked for, which may be never. */
async function* chunksOf(file: string, signal: AbortSignal): AsyncGenerator<Uint8Array> {
  yield* addAbortSignal(signal, statSync(file).isFIFO() ? openFifo(file) : createReadStream(file));
}

/**
 * It may have no writer, or a silent one. A file is opened and read in a thread, and nothing would end its wait: even an exit waits for
 * the thread. So a FIFO is opened without waiting, and read as a pipe on standard input is.
 */
function openFifo(file: string): Socket {
  return new Socket({ fd: openSync(file, constants.O_RDONLY | constants.O_NONBLOCK), writable: false });
}

/** It may be a key, pasted where a file belongs. A script of npm looks for a relative path in the folder of the package. */
function unnamed(file: string): string {
  if (file === '-') return 'standard input';
  return isAbsolute(file) ? 'the file to import' : `the file to import, seen from ${process.cwd()},`;
}

function summary({ lines, added, updated, skipped, refused }: ImportReport): string {
  return `${counted(lines, 'line')}: ${added} added, ${updated} updated, ${skipped} skipped, ${refused} refused`;
}

/** Prints remarks about lines, as many as anybody would read. */
function createRemarks(progress: ReturnType<typeof createProgress>, kind: string) {
  let count = 0;
  return {
    add(remark: string): void {
      count += 1;
      if (count <= shownMax) progress.say(remark);
    },
    end(): void {
      if (count > shownMax) progress.say(`… and ${count - shownMax} more ${kind}`);
    },
  };
}

/** A line that is overwritten, on a terminal only. */
export function createProgress({ stderr }: Pick<Terminal, 'stderr'>) {
  let shownAt = -Infinity;
  const clear = (): void => void (stderr.isTTY && stderr.write('\r\u001B[K'));
  return {
    show(report: ImportReport): void {
      if (!stderr.isTTY || performance.now() - shownAt < progressEveryMs) return;
      shownAt = performance.now();
      clear();
      // In more than one row it could not be overwritten. Some terminals do not know their width, and say 0.
      stderr.write(summary(report).slice(0, (stderr.columns || 80) - 1));
    },
    say(line: string): void {
      clear();
      stderr.write(`${line}\n`);
    },
    end: clear,
  };
}

function isFileFault(error: unknown): boolean {
  return error instanceof Error && 'syscall' in error;
}
