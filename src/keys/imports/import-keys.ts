import type { WrittenFields } from '../key-fields.ts';
import type { KeyTools } from '../key-rules.ts';
import { readKeyFields } from '../read-key-fields.ts';
import { BatchImporter, refusedFor, type LineOutcome } from './import-batch.ts';
import { readCandidate, type Candidate } from './read-candidate.ts';

/** One line of a file: the fields of a key, its `secret` or `hash`, and an `id` to choose it (`null` = none); or its fault. */
export type ImportLine = { readonly number: number } & (
  | { readonly fields: WrittenFields }
  | { readonly fault: string }
);

export interface ImportOptions {
  /** Update existing keys to match the file; otherwise they stay as they are. */
  readonly update: boolean;
  /** For lines that name no plan. */
  readonly plan?: string | undefined;
  /** Told of each line that is refused. The message never repeats its content. */
  readonly onFault: (line: number, message: string) => void;
  /**
   * Told of each key that was added although its secret can be guessed or has quotes around it, or with a scope that is not among the
   * routes; and of each that was there already, if the secret does not work.
   */
  readonly onWarning: (line: number, message: string) => void;
  /** Told after each batch what it has come to so far, also after the last one of an import that fails. */
  readonly onProgress: (report: ImportReport) => void;
}

export interface ImportReport {
  readonly lines: number;
  readonly added: number;
  readonly updated: number;
  readonly skipped: number;
  readonly refused: number;
}

export const nothingImported: ImportReport = { lines: 0, added: 0, updated: 0, skipped: 0, refused: 0 };

/** A batch is one step of the store, so it must take far less time than a request can wait. */
const batchSize = 250;

/**
 * Takes over keys from a file. It can be run again, after a failure or with a longer file: existing keys are recognised by their
 * secrets. A wrong line is reported and the others go on, unless where it ends cannot be known (`BrokenFile`).
 */
export async function importKeys(
  lines: AsyncIterable<ImportLine>,
  options: ImportOptions & { readonly actor: string },
  tools: KeyTools,
): Promise<void> {
  const counts = { ...nothingImported };
  const importer = new BatchImporter({ ...tools, actor: options.actor, update: options.update });
  let batch: Candidate[] = [];

  function refuse(number: number, message: string): void {
    counts.refused += 1;
    options.onFault(number, message);
  }

  function count({ number, warning }: Candidate, outcome: LineOutcome): void {
    if ('refused' in outcome) {
      refuse(number, outcome.refused);
      return;
    }
    counts[outcome.done] += 1;
    const told = outcome.done === 'added' ? warning : outcome.doubt;
    if (told !== undefined) options.onWarning(number, told);
  }

  function take(line: ImportLine): void {
    try {
      if ('fault' in line) refuse(line.number, line.fault);
      else batch.push(readCandidate(line.number, line.fields, { ...tools, plan: options.plan }));
    } catch (error) {
      refuse(line.number, refusedFor(error).refused);
    }
  }

  async function flush(): Promise<void> {
    const candidates = batch;
    batch = [];
    const outcomes = new Map<Candidate, LineOutcome>();
    try {
      await importer.run(candidates, outcomes);
    } finally {
      for (const candidate of candidates) {
        const outcome = outcomes.get(candidate);
        if (outcome !== undefined) count(candidate, outcome);
      }
      options.onProgress({ ...counts });
    }
  }

  // Otherwise every line would report it.
  readKeyFields({ plan: options.plan }, tools.rules);
  try {
    for await (const line of lines) {
      counts.lines += 1;
      take(line);
      if (batch.length >= batchSize) await flush();
    }
  } finally {
    // Whatever ended the file, the lines before it were read.
    await flush();
  }
}
