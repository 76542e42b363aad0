import { setTimeout as pause } from 'node:timers/promises';
import type { AddAnswer, AuditNote, KeyRecord, KeyStore } from '../stores/key-store.ts';
import { StoreUnavailable, Unreadable } from '../stores/ledger.ts';
import { amendKey } from './amend-key.ts';
import { readKeyFields, type KeyFields, type WrittenFields } from './key-fields.ts';
import { KeyProblem } from './key-problem.ts';
import type { KeyRules } from './key-rules.ts';
import { differences } from './key-view.ts';
import { readCandidate, type Candidate } from './read-candidate.ts';

/** One line of a file: the fields of a key, its `secret` or its `hash`, and `id` to choose it, of which `null` says nothing; or why it is none. */
export type ImportLine = { readonly number: number } & (
  | { readonly fields: WrittenFields }
  | { readonly fault: string }
);

export interface ImportOptions {
  /** Bring keys that are there to what the file says; otherwise they stay as they are. */
  readonly update: boolean;
  /** For lines that name no plan. */
  readonly plan?: string | undefined;
  /** Told of each line that is refused. The message never repeats what stands in it. */
  readonly onFault: (line: number, message: string) => void;
  /** Told of each key that was added although its secret can be guessed. */
  readonly onWarning?: ((line: number, message: string) => void) | undefined;
  /** Told after each batch. */
  readonly onProgress?: ((report: ImportReport) => void) | undefined;
}

export interface ImportReport {
  readonly lines: number;
  readonly added: number;
  readonly updated: number;
  /** Were there already. */
  readonly skipped: number;
  readonly refused: number;
}

interface Surroundings {
  readonly store: KeyStore;
  readonly rules: KeyRules;
  readonly now: () => number;
}

type Counts = { -readonly [Field in keyof ImportReport]: number };

/** A batch is one step of the store, so it must stay well below what a request can wait for. */
const batchSize = 250;
const retriesMax = 4;
const retryAfterMs = 100;

/**
 * Takes keys over from a file. It can be run again, after a failure or with a longer file: what is there is recognised by
 * its secret. A line that is wrong is reported and the others go on.
 */
export async function importKeys(
  lines: AsyncIterable<ImportLine>,
  options: ImportOptions & { readonly actor: string },
  by: Surroundings,
): Promise<ImportReport> {
  const counts: Counts = { lines: 0, added: 0, updated: 0, skipped: 0, refused: 0 };
  let batch: Candidate[] = [];

  function refuse(number: number, message: string): void {
    counts.refused += 1;
    options.onFault(number, message);
  }

  /** Does work on a line that may turn out to be wrong. */
  async function tryLine(number: number, work: () => Promise<void> | void): Promise<void> {
    try {
      await work();
    } catch (error) {
      if (!(error instanceof KeyProblem || error instanceof Unreadable)) throw error;
      refuse(number, error.message);
    }
  }

  async function settle({ number, id, fields, warning }: Candidate, answer: AddAnswer): Promise<void> {
    if (answer.kind === 'added') {
      counts.added += 1;
      if (warning !== undefined) options.onWarning?.(number, warning);
    } else if (answer.kind === 'id_taken') refuse(number, 'the id belongs to another key');
    else if (answer.kind === 'lost')
      refuse(number, `the secret is that of key ${answer.id}, whose record is gone`);
    else if (id !== undefined && id !== answer.id) refuse(number, 'the secret belongs to another key');
    else if (options.update && (await bring(answer.id, fields))) counts.updated += 1;
    else counts.skipped += 1;
  }

  async function bring(id: string, fields: Partial<KeyFields>): Promise<boolean> {
    for (let attempt = 0; attempt < 3; attempt += 1) {
      const from = (await by.store.readKey(id))?.record;
      if (from === undefined || from.revokedAt !== undefined) return false;
      const amended = amendKey(from, fields, by.rules);
      if (amended === from) return false;
      const to = { ...amended, version: from.version + 1 };
      const note = { actor: options.actor, action: 'import', keyId: id, changes: differences(from, to) };
      if ((await by.store.changeKey({ from, to, note })) === 'done') return true;
    }
    throw new KeyProblem('conflict', 'somebody else keeps changing the key');
  }

  /** A store that worked a moment ago gets another chance: what a lost answer has added is known by its secrets. */
  async function add(records: readonly KeyRecord[], note: AuditNote): Promise<readonly AddAnswer[]> {
    const hasWorked = counts.added + counts.skipped > 0;
    for (let attempt = 0; ; attempt += 1) {
      try {
        return await by.store.addKeys(records, note);
      } catch (error) {
        if (!(error instanceof StoreUnavailable) || !hasWorked || attempt >= retriesMax) throw error;
        await pause(retryAfterMs * 2 ** attempt);
      }
    }
  }

  async function flush(): Promise<void> {
    const candidates = batch;
    batch = [];
    const note = { actor: options.actor, action: 'import', keyId: undefined, changes: {} };
    const records = candidates.map(({ record }) => record);
    const answers = records.length === 0 ? [] : await add(records, note);
    for (const [at, candidate] of candidates.entries()) {
      const answer = answers[at];
      if (answer !== undefined) await tryLine(candidate.number, () => settle(candidate, answer));
    }
    options.onProgress?.({ ...counts });
  }

  // It would be told of every line.
  readKeyFields({ plan: options.plan }, by.rules);
  for await (const line of lines) {
    counts.lines += 1;
    await tryLine(line.number, () => {
      if ('fault' in line) refuse(line.number, line.fault);
      else batch.push(readCandidate(line.number, line.fields, { ...by, plan: options.plan }));
    });
    if (batch.length >= batchSize) await flush();
  }
  await flush();
  return { ...counts };
}
