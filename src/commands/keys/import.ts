import { createReadStream } from 'node:fs';
import { exitCodes } from '../../exit-codes.ts';
import type { ImportReport } from '../../keys/import-keys.ts';
import { readImport } from '../../keys/read-import.ts';
import { StoreUnavailable } from '../../stores/ledger.ts';
import type { Terminal } from '../terminal.ts';
import { openBook, type KeysOptions } from './open-book.ts';

export interface ImportFlags {
  readonly plan?: string;
  readonly update?: boolean;
}

const faultsShownMax = 200;
const progressEveryMs = 250;

/** `gatehouse keys import`: takes keys over from a file, or from standard input. */
export function importKeys(file: string, options: KeysOptions & ImportFlags): Promise<number> {
  return openBook({ ...options, create: true }, async ({ book, by, terminal }) => {
    const progress = createProgress(terminal);
    let faults = 0;
    try {
      const lines = readImport(file === '-' ? terminal.stdin : createReadStream(file));
      const report = await book.importKeys(
        lines,
        {
          update: options.update === true,
          plan: options.plan,
          onProgress: (counts) => progress.show(counts),
          onFault(line, message) {
            faults += 1;
            if (faults <= faultsShownMax) progress.say(`line ${line}: ${message}`);
          },
        },
        by,
      );
      if (faults > faultsShownMax) progress.say(`… and ${faults - faultsShownMax} lines more`);
      progress.end();
      if (options.json === true) terminal.stdout.write(`${JSON.stringify(report)}\n`);
      else if (options.quiet !== true) terminal.stdout.write(`${summary(report)}\n`);
      return report.refused > 0 ? exitCodes.failed : exitCodes.ok;
    } catch (error) {
      progress.end();
      if (isFileFault(error)) {
        terminal.stderr.write(`gatehouse: ${file} cannot be read (${error.code})\n`);
        return exitCodes.noInput;
      }
      if (error instanceof StoreUnavailable) {
        terminal.stderr.write('Run it again to go on: what is there already is passed over.\n');
      }
      throw error;
    }
  });
}

function summary({ lines, added, updated, skipped, refused }: ImportReport): string {
  return `${lines} lines: ${added} added, ${updated} updated, ${skipped} there already, ${refused} refused`;
}

/** A line that is written over, where somebody watches. */
function createProgress({ stderr }: Terminal) {
  let shownAt = 0;
  const clear = (): void => void (stderr.isTTY && stderr.write('\r\u001B[K'));
  return {
    show(report: ImportReport): void {
      if (!stderr.isTTY || performance.now() - shownAt < progressEveryMs) return;
      shownAt = performance.now();
      clear();
      stderr.write(summary(report));
    },
    say(line: string): void {
      clear();
      stderr.write(`${line}\n`);
    },
    end: clear,
  };
}

function isFileFault(error: unknown): error is Error & { readonly code: string } {
  return error instanceof Error && 'code' in error && 'syscall' in error && typeof error.code === 'string';
}
