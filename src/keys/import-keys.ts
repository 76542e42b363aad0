import { setTimeout as pause } from 'node:timers/promises';
import { slicesOf } from '../collections/slices.ts';
import type { AddAnswer, KeyStore } from '../stores/key-store.ts';
import { isOutage, Unreadable } from '../stores/ledger.ts';
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

/** A line that may become a key, and what the store said to that; or why it cannot, where no key has its secret. */
interface Answered {
  readonly candidate: Candidate;
  readonly answer: AddAnswer | KeyProblem | Unreadable;
}

/** What became of a line. */
type Outcome = 'added' | 'updated' | 'skipped' | { readonly refused: string };

/** A batch is one step of the store, so it must stay well below what a request can wait for. */
const batchSize = 250;
/** Each is read and then written, by a store that may be far away. */
const broughtAtOnce = 16;
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
  const counts = { lines: 0, added: 0, updated: 0, skipped: 0, refused: 0 };
  let batch: Candidate[] = [];
  let hasWorked = false;

  /** A store that worked a moment ago gets another chance: what a lost answer has done is seen in the keys. */
  async function again<Answer>(ask: () => Promise<Answer>): Promise<Answer> {
    for (let attempt = 0; ; attempt += 1) {
      try {
        const answer = await ask();
        hasWorked = true;
        return answer;
      } catch (error) {
        if (!isOutage(error) || !hasWorked || attempt >= retriesMax) throw error;
        await pause(retryAfterMs * 2 ** attempt);
      }
    }
  }

  async function bring(id: string, fields: Partial<KeyFields>): Promise<boolean> {
    for (let attempt = 0; attempt < 3; attempt += 1) {
      const from = (await again(() => by.store.readKey(id)))?.record;
      if (from === undefined || from.revokedAt !== undefined) return false;
      const amended = amendKey(from, fields, by.rules);
      if (amended === from) return false;
      const to = { ...amended, version: from.version + 1 };
      const note = { actor: options.actor, action: 'import', keyId: id, changes: differences(from, to) };
      if ((await again(() => by.store.changeKey({ from, to, note }))) === 'done') return true;
    }
    throw new KeyProblem('conflict', 'somebody else keeps changing the key');
  }

  async function settle({ candidate: { id, fields }, answer }: Answered): Promise<Outcome> {
    if (answer instanceof Error) return { refused: answer.message };
    if (answer.kind === 'added') return 'added';
    if (answer.kind === 'id_taken') return { refused: 'the id belongs to another key' };
    if (answer.kind === 'lost')
      return { refused: `the secret is that of key ${answer.id}, whose record is gone` };
    if (id !== undefined && id !== answer.id) return { refused: 'the secret belongs to another key' };
    return options.update && (await bring(answer.id, fields)) ? 'updated' : 'skipped';
  }

  function refuse(number: number, message: string): void {
    counts.refused += 1;
    options.onFault(number, message);
  }

  function count({ number, warning }: Candidate, outcome: Outcome): void {
    if (typeof outcome === 'object') {
      refuse(number, outcome.refused);
      return;
    }
    counts[outcome] += 1;
    if (outcome === 'added' && warning !== undefined) options.onWarning?.(number, warning);
  }

  function take(line: ImportLine): void {
    try {
      if ('fault' in line) refuse(line.number, line.fault);
      else batch.push(readCandidate(line.number, line.fields, { ...by, plan: options.plan }));
    } catch (error) {
      refuse(line.number, refusedFor(error).refused);
    }
  }

  async function add(candidates: readonly Candidate[]): Promise<readonly Answered[]> {
    const pairs = candidates.flatMap((candidate) => {
      const { record } = candidate;
      return record instanceof KeyProblem ? [] : { candidate, record };
    });
    if (pairs.length === 0) return [];
    const note = { actor: options.actor, action: 'import', keyId: undefined, changes: {} };
    const records = pairs.map(({ record }) => record);
    const answers = await again(() => by.store.addKeys(records, note));
    return pairs.flatMap(({ candidate }, at) => {
      const answer = answers[at];
      return answer === undefined ? [] : { candidate, answer };
    });
  }

  /** Lines that can make no key may be about one that is there, or that an earlier line of the batch makes. */
  async function find(candidates: readonly Candidate[]): Promise<readonly Answered[]> {
    const answered: Answered[] = [];
    const unable = candidates.filter(({ record }) => record instanceof KeyProblem);
    for (const some of slicesOf(unable, broughtAtOnce)) {
      const answers = await Promise.all(some.map((candidate) => findFor(candidate, candidates)));
      answered.push(...answers.map((answer, at) => ({ candidate: some[at] as Candidate, answer })));
    }
    return answered;
  }

  async function findFor(
    { digest, number, record: problem }: Candidate,
    others: readonly Candidate[],
  ): Promise<Answered['answer']> {
    try {
      const key = await again(() => by.store.findKey(digest));
      if (key !== undefined) return { kind: 'known', id: key.id };
    } catch (error) {
      if (error instanceof Unreadable) return error;
      throw error;
    }
    const made = others
      .filter((one) => one.digest === digest && one.number < number)
      .flatMap(({ record }) => (record instanceof KeyProblem ? [] : record.id));
    return made[0] === undefined ? (problem as KeyProblem) : { kind: 'known', id: made[0] };
  }

  async function flush(): Promise<void> {
    const candidates = batch;
    batch = [];
    // Looked for first: what a line is about was there before it.
    const found = await find(candidates);
    const answered = [...found, ...(await add(candidates))].toSorted(inOrder);
    const outcomes = new Map<Candidate, Outcome>();
    try {
      await forEachKey(answered, async (line) => {
        outcomes.set(line.candidate, await settle(line).catch(refusedFor));
      });
    } finally {
      for (const candidate of candidates) {
        const outcome = outcomes.get(candidate);
        if (outcome !== undefined) count(candidate, outcome);
      }
      options.onProgress?.({ ...counts });
    }
  }

  // It would be told of every line.
  readKeyFields({ plan: options.plan }, by.rules);
  for await (const line of lines) {
    counts.lines += 1;
    take(line);
    if (batch.length >= batchSize) await flush();
  }
  await flush();
  return { ...counts };
}

/** A line that turns out to be wrong; throws what is no fault of the line. */
function refusedFor(error: unknown): { readonly refused: string } {
  if (error instanceof KeyProblem || error instanceof Unreadable) return { refused: error.message };
  throw error;
}

function inOrder(one: Answered, other: Answered): number {
  return one.candidate.number - other.candidate.number;
}

/** What lines about one key have in common. */
function keyOf({ candidate: { record, digest }, answer }: Answered): string {
  if ('kind' in answer && answer.kind === 'known') return answer.id;
  return record instanceof KeyProblem ? digest : record.id;
}

/**
 * Does the work for each line: of some keys at once, of one key in the order of the lines, so that the last one has the last word.
 * Nothing is under way any more when it rejects.
 */
async function forEachKey(
  lines: readonly Answered[],
  work: (line: Answered) => Promise<void>,
): Promise<void> {
  const byKey = Map.groupBy(lines, keyOf);
  for (const some of slicesOf([...byKey.values()], broughtAtOnce)) {
    const ends = await Promise.allSettled(
      some.map(async (ofKey) => {
        for (const line of ofKey) await work(line);
      }),
    );
    const failed = ends.find((end) => end.status === 'rejected');
    if (failed !== undefined) throw failed.reason;
  }
}
