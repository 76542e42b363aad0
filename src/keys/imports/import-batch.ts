import { setTimeout as pause } from 'node:timers/promises';
import { slicesOf } from '../../collections/slices.ts';
import type { AddAnswer, KeyRecord, KeyStore } from '../../stores/key-store.ts';
import { isOutage, Unreadable } from '../../stores/ledger.ts';
import { amendKey, type KeyFields } from '../key-fields.ts';
import { KeyProblem } from '../key-problem.ts';
import type { KeyTools } from '../key-rules.ts';
import { differences } from '../key-view.ts';
import { liveSecrets } from '../secrets.ts';
import type { Candidate } from './read-candidate.ts';

/** What became of a line, and why its secret does not work, where the key was there already. */
export type LineOutcome =
  | { readonly done: 'added' | 'updated' | 'skipped'; readonly doubt?: string | undefined }
  | { readonly refused: string };

/** A line and what the store said to it; or why it cannot make a key, where no key has its secret. */
interface Answered {
  readonly candidate: Candidate;
  readonly answer: AddAnswer | KeyProblem | Unreadable;
}

interface BatchParts extends KeyTools {
  readonly actor: string;
  /** Whether existing keys are updated to match the lines. */
  readonly update: boolean;
}

/** Each is read and then written, by a store that may be far away. */
const broughtAtOnce = 16;
const retriesMax = 4;
const retryAfterMs = 100;

/** Imports lines into a store, some at a time. */
export class BatchImporter {
  readonly #parts: BatchParts;
  #hasWorked = false;

  constructor(parts: BatchParts) {
    this.#parts = parts;
  }

  /** Notes what becomes of each line, including those already done when it rejects. */
  async run(candidates: readonly Candidate[], outcomes: Map<Candidate, LineOutcome>): Promise<void> {
    // Looked for first: the key that a line is about was there before it.
    const found = await this.#find(candidates);
    const answered = [...found, ...(await this.#add(candidates))].toSorted(inOrder);
    await forEachKey(answered, async (line) => {
      outcomes.set(line.candidate, await this.#outcomeOf(line).catch(refusedFor));
    });
  }

  /** Lines that cannot make a key may be about one that exists, or that an earlier line of the batch makes. */
  async #find(candidates: readonly Candidate[]): Promise<readonly Answered[]> {
    const answered: Answered[] = [];
    const partial = candidates.filter((one) => one.kind === 'partial');
    for (const some of slicesOf(partial, broughtAtOnce)) {
      const answers = some.map(async (candidate) => ({
        candidate,
        answer: (await this.#findFor(candidate, candidates)) ?? candidate.problem,
      }));
      answered.push(...(await Promise.all(answers)));
    }
    return answered;
  }

  async #findFor(
    { digest, number }: Candidate,
    others: readonly Candidate[],
  ): Promise<AddAnswer | Unreadable | undefined> {
    try {
      const key = await this.#again((store) => store.findKey(digest));
      if (key !== undefined) return { kind: 'known', id: key.id };
    } catch (error) {
      if (error instanceof Unreadable) return error;
      throw error;
    }
    const made = others
      .filter((one) => one.kind === 'whole')
      .find((one) => one.digest === digest && one.number < number);
    return made && { kind: 'known', id: made.record.id };
  }

  async #add(candidates: readonly Candidate[]): Promise<readonly Answered[]> {
    const whole = candidates.filter((one) => one.kind === 'whole');
    if (whole.length === 0) return [];
    const note = { actor: this.#parts.actor, action: 'import', keyId: undefined, changes: {} };
    const records = whole.map(({ record }) => record);
    const answers = await this.#again((store) => store.addKeys(records, note));
    return whole.flatMap((candidate, at) => {
      const answer = answers[at];
      return answer === undefined ? [] : { candidate, answer: isMade(candidate, answer) ? added : answer };
    });
  }

  async #outcomeOf({ candidate: { id, fields, digest }, answer }: Answered): Promise<LineOutcome> {
    if (answer instanceof Error) return { refused: answer.message };
    if (answer.kind === 'added') return { done: 'added' };
    if (answer.kind === 'id_taken') return { refused: 'the id belongs to another key' };
    if (answer.kind === 'lost')
      return { refused: `the secret is that of key ${answer.id}, whose record is gone` };
    if (id !== undefined && id !== answer.id) return { refused: 'the secret belongs to another key' };
    return this.#meet(answer.id, digest, fields);
  }

  /** A key that was there is passed over, or changed to match the line if that is wanted and it was not revoked. */
  async #meet(id: string, digest: string, fields: Partial<KeyFields>): Promise<LineOutcome> {
    const { rules, actor, update } = this.#parts;
    let tried: number | undefined;
    for (let attempt = 0; attempt < 3; attempt += 1) {
      const from = (await this.#again((store) => store.readKey(id)))?.record;
      if (from === undefined) return { done: 'skipped' };
      const doubt = this.#doubtOf(from, digest);
      const amended = update && from.revokedAt === undefined ? amendKey(from, fields, rules) : from;
      // An attempt whose answer was lost has made it so.
      if (amended === from) return { done: from.version === tried ? 'updated' : 'skipped', doubt };
      const to = { ...amended, version: from.version + 1 };
      tried = to.version;
      const note = { actor, action: 'import', keyId: id, changes: differences(from, to) };
      if ((await this.#again((store) => store.changeKey({ from, to, note }))) === 'done')
        return { done: 'updated', doubt };
    }
    throw new KeyProblem('conflict', 'somebody else keeps changing the key');
  }

  /** Whoever imports a file takes its secrets for working ones. */
  #doubtOf({ revokedAt, secrets }: KeyRecord, digest: string): string | undefined {
    if (revokedAt !== undefined) return 'the key was revoked, and stays so';
    const isLive = liveSecrets(secrets, this.#parts.now()).some((secret) => secret.digest === digest);
    return isLive ? undefined : 'the secret was replaced by a rotation, and works no more';
  }

  /** A store that worked a moment ago gets another chance: what a call with a lost answer has done shows in the keys. */
  async #again<Answer>(ask: (store: KeyStore) => Promise<Answer>): Promise<Answer> {
    for (let attempt = 0; ; attempt += 1) {
      try {
        const answer = await ask(this.#parts.store);
        this.#hasWorked = true;
        return answer;
      } catch (error) {
        if (!isOutage(error) || !this.#hasWorked || attempt >= retriesMax) throw error;
        await pause(retryAfterMs * 2 ** attempt);
      }
    }
  }
}

const added: AddAnswer = { kind: 'added' };

/** Whether an earlier attempt, whose answer was lost, has made the key: nobody else knows the id that it was given here. */
function isMade({ id, record }: Candidate & { readonly kind: 'whole' }, answer: AddAnswer): boolean {
  return id === undefined && answer.kind === 'known' && answer.id === record.id;
}

/** A line that turns out to be wrong; throws what is not the line's fault. */
export function refusedFor(error: unknown): { readonly refused: string } {
  if (error instanceof KeyProblem || error instanceof Unreadable) return { refused: error.message };
  throw error;
}

function inOrder(one: Answered, other: Answered): number {
  return one.candidate.number - other.candidate.number;
}

/** What lines about one key have in common. */
function keyOf({ candidate, answer }: Answered): string {
  if ('kind' in answer && answer.kind === 'known') return answer.id;
  return candidate.kind === 'whole' ? candidate.record.id : candidate.digest;
}

/**
 * Does the work for each line: several keys at once, one key's in the order of the lines, so that the last one has the last word.
 * Nothing is still under way when it rejects.
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
