import { setTimeout as pause } from 'node:timers/promises';
import { slicesOf } from '../../collections/slices.ts';
import type { AddAnswer, KeyRecord, KeyStore } from '../../stores/key-store.ts';
import { isOutage, Unreadable } from '../../stores/store-unavailable.ts';
import { untilDone } from '../change-key.ts';
import { amendKey, type KeyFields } from '../key-fields.ts';
import { KeyProblem } from '../key-problem.ts';
import type { KeyTools } from '../key-rules.ts';
import { differences } from '../key-view.ts';
import { liveSecrets } from '../secrets.ts';
import type { Candidate, PartialLine, WholeLine } from './read-candidate.ts';

/** What became of a line, and why its secret does not work, where the key was there already. */
export type LineOutcome =
  | { readonly done: 'added' | 'updated' | 'skipped'; readonly doubt?: string | undefined }
  | Refused;

interface Refused {
  readonly refused: string;
}

/** What the store said to a line; or why it cannot make a key, where no key has its secret. */
type Answer = AddAnswer | Refused;

interface BatchParts extends KeyTools {
  readonly actor: string;
  /** Whether existing keys are updated to match the lines. */
  readonly update: boolean;
}

/** Each is read and then written, by a store that may be far away. */
const broughtAtOnce = 16;
const retriesMax = 4;
const retryAfterMs = 100;

export class BatchImporter {
  readonly #parts: BatchParts;
  #hasWorked = false;

  constructor(parts: BatchParts) {
    this.#parts = parts;
  }

  /** Notes what becomes of each line, including those already done when it rejects. */
  async run(candidates: readonly Candidate[], outcomes: Map<Candidate, LineOutcome>): Promise<void> {
    const answers = await this.#answersTo(candidates);
    const byKey = Map.groupBy(candidates, (line) => keyOf(line, answers.get(line)));
    // The lines of one key in their order, so that the last one has the last word.
    await someAtOnce(byKey.values(), async (lines) => {
      for (const line of lines) {
        const answer = answers.get(line);
        if (answer !== undefined) outcomes.set(line, await this.#outcomeOf(line, answer).catch(refusedFor));
      }
    });
  }

  async #answersTo(candidates: readonly Candidate[]): Promise<ReadonlyMap<Candidate, Answer>> {
    const answers = new Map<Candidate, Answer>();
    const partial = candidates.filter((one) => one.kind === 'partial');
    // Looked for before any key is made: a line that cannot make one may be about a key that was there before it, or that an
    // earlier line of the batch makes.
    await someAtOnce(partial, async (line) => {
      answers.set(line, await this.#find(line).catch(refusedFor));
    });
    const made = new Map<string, WholeLine>();
    for (const [line, answer] of await this.#add(candidates.filter((one) => one.kind === 'whole'))) {
      answers.set(line, answer);
      // A line whose key is known may itself have made it, in an attempt whose answer was lost.
      if (answer.kind === 'added' || answer.kind === 'known') made.getOrInsert(line.digest, line);
    }
    for (const line of partial) {
      const maker = made.get(line.digest);
      if (maker !== undefined && maker.number < line.number)
        answers.set(line, { kind: 'known', id: keyOf(maker, answers.get(maker)) });
    }
    return answers;
  }

  async #find({ digest, problem }: PartialLine): Promise<Answer> {
    const key = await this.#again((store) => store.findKey(digest));
    return key === undefined ? { refused: problem.message } : { kind: 'known', id: key.id };
  }

  async #add(whole: readonly WholeLine[]): Promise<readonly (readonly [WholeLine, AddAnswer])[]> {
    if (whole.length === 0) return [];
    const note = { actor: this.#parts.actor, action: 'import', keyId: undefined, changes: {} };
    const records = whole.map(({ record }) => record);
    const answers = await this.#again((store) => store.addKeys(records, note));
    return answers.map((answer, at) => {
      const line = whole[at] as WholeLine;
      return [line, isMade(line, answer) ? { kind: 'added' } : answer];
    });
  }

  async #outcomeOf({ id, fields, digest }: Candidate, answer: Answer): Promise<LineOutcome> {
    if ('refused' in answer) return answer;
    if (answer.kind === 'added') return { done: 'added' };
    if (answer.kind === 'id_taken') return { refused: 'there is a key of this id with other secrets' };
    if (answer.kind === 'lost')
      return { refused: `the secret is that of key ${answer.id}, whose record is gone` };
    if (id !== undefined && id !== answer.id) return { refused: 'the secret belongs to another key' };
    return this.#meet(answer.id, digest, fields);
  }

  /** A key that was there is passed over, or changed to match the line if that is wanted and it was not revoked. */
  async #meet(id: string, digest: string, fields: Partial<KeyFields>): Promise<LineOutcome> {
    const { rules, actor, update } = this.#parts;
    let tried: number | undefined;
    return untilDone<LineOutcome>(async () => {
      const from = (await this.#again((store) => store.readKey(id)))?.record;
      if (from === undefined) return { done: 'skipped' };
      const doubt = this.#doubtOf(from, digest);
      const amended = update && from.revokedAt === undefined ? amendKey(from, fields, rules) : from;
      // An attempt whose answer was lost has made it so.
      if (amended === from) return { done: from.version === tried ? 'updated' : 'skipped', doubt };
      const to = { ...amended, version: from.version + 1 };
      tried = to.version;
      const note = { actor, action: 'import', keyId: id, changes: differences(from, to) };
      const answer = await this.#again((store) => store.changeKey({ from, to, note }));
      return answer === 'done' ? { done: 'updated', doubt } : undefined;
    });
  }

  /** Whoever imports a file takes its secrets for working ones. */
  #doubtOf({ revokedAt, secrets }: KeyRecord, digest: string): string | undefined {
    if (revokedAt !== undefined) return 'the key was revoked, and stays so';
    const isLive = liveSecrets(secrets, this.#parts.now()).some((secret) => secret.digest === digest);
    return isLive ? undefined : 'the secret was replaced by a rotation, and works no more';
  }

  /** A store that worked a moment ago gets another chance: what a call with a lost answer has done shows in the keys. */
  async #again<T>(ask: (store: KeyStore) => Promise<T>): Promise<T> {
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

/** Whether an earlier attempt, whose answer was lost, has made the key: nobody else knows the id that it was given here. */
function isMade({ id, record }: WholeLine, answer: AddAnswer): boolean {
  return id === undefined && answer.kind === 'known' && answer.id === record.id;
}

/** A line that turns out to be wrong; throws what is not the line's fault. */
export function refusedFor(error: unknown): Refused {
  if (error instanceof KeyProblem || error instanceof Unreadable) return { refused: error.message };
  throw error;
}

/** What lines about one key have in common. */
function keyOf(line: Candidate, answer: Answer | undefined): string {
  if (answer !== undefined && 'id' in answer) return answer.id;
  return line.kind === 'whole' ? line.record.id : line.digest;
}

/** Does the work for each item, some at a time. Nothing is still under way when it rejects. */
async function someAtOnce<Item>(items: Iterable<Item>, work: (item: Item) => Promise<void>): Promise<void> {
  for (const some of slicesOf(items, broughtAtOnce)) {
    const ends = await Promise.allSettled(some.map(work));
    const failed = ends.find((end) => end.status === 'rejected');
    if (failed !== undefined) throw failed.reason;
  }
}
