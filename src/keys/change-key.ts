import { setTimeout as pause } from 'node:timers/promises';
import type { KeyChange, KeyRecord, KeyStore, KnownKey, RequestMark } from '../stores/key-store.ts';
import { holdsSecret } from './key-format.ts';
import { isKeyId } from './key-id.ts';
import { KeyProblem } from './key-problem.ts';
import type { KeyTools } from './key-rules.ts';
import { differences, viewKey, type KeyView } from './key-view.ts';

/** Who changes a key, and from which version of it. */
export interface By {
  /** The name that the audit log keeps: a user or a token, never a secret. */
  readonly actor: string;
  /** The change is refused as outdated when the key is at none of these versions. */
  readonly versions?: readonly number[] | undefined;
}

/** What somebody does to a key, as the audit log has it. */
export interface Act extends By {
  readonly action: 'create' | 'update' | 'rotate' | 'enable' | 'disable' | 'revoke';
}

interface Change<Made> extends Act {
  /** What becomes of a key, the very same record for no change; and what was made that the record does not hold. */
  readonly edit: (record: KeyRecord) => { readonly record: KeyRecord; readonly made: Made };
  /**
   * The request, where the caller has named it. A key that it has changed already is not judged again: the first run has ended the
   * version that it asks for.
   */
  readonly request?: RequestMark;
}

/** How many named requests of a key are remembered. */
const requestsMax = 8;
/**
 * When somebody else changes the key meanwhile, the change is tried this often, so that nobody can keep an exposed key alive by
 * changing it. With twenty writers that never pause, one attempt in sixteen succeeds.
 */
const attemptsMax = 200;
/** Before another attempt, so that those that came together do not meet again. */
const pauseMaxMs = 10;

/** A secret in the place of an id is none: it must not reach the store, where others may read along. */
export async function requireKey(id: string, { store, rules }: KeyTools): Promise<KnownKey> {
  const known = isKeyId(id) && !holdsSecret(id) ? await store.readKey(id) : undefined;
  if (known !== undefined) return known;
  const isStatic = rules.staticKeys.some((key) => key.id === id);
  throw new KeyProblem(
    'not_found',
    isStatic
      ? 'this key stands in the configuration file, and is seen and changed there'
      : 'there is no such key',
  );
}

/**
 * Reads a key, changes it and writes it. A change that comes to nothing is neither written nor audited. A revoked key can only be
 * revoked again.
 */
export async function changeKey<Made>(
  id: string,
  { edit, request, ...act }: Change<Made>,
  tools: KeyTools,
): Promise<{ readonly key: KeyView; readonly made: Made }> {
  const { store, now } = tools;
  return untilDone(async () => {
    const known = await requireKey(id, tools);
    const { record } = known;
    if (request === undefined || !isMarked(record, request)) refuseChange(record, act);
    const { record: to, made } = edit(record);
    if (to === record) return { key: viewKey(known, now()), made };
    const next = { ...to, version: record.version + 1 };
    const isDone = await put({ from: record, to: next }, act, store);
    return isDone ? { key: viewKey({ ...known, record: next }, now()), made } : undefined;
  });
}

/** Attempts a change until it is done: an attempt that gives undefined came after somebody else's. */
export async function untilDone<Done>(attempt: () => Promise<Done | undefined>): Promise<Done> {
  for (let turn = 1; turn <= attemptsMax; turn += 1) {
    const done = await attempt();
    if (done !== undefined) return done;
    await pause(Math.random() * pauseMaxMs);
  }
  throw new KeyProblem('conflict', 'others keep changing the key');
}

export async function addKey(to: KeyRecord, { actor }: By, { store }: KeyTools): Promise<void> {
  await put({ from: undefined, to }, { actor, action: 'create' }, store);
}

/** False when somebody else was faster. */
async function put(
  { from, to }: Pick<KeyChange, 'from' | 'to'>,
  { actor, action }: Act,
  store: KeyStore,
): Promise<boolean> {
  const note = { actor, action, keyId: to.id, changes: differences(from, to) };
  const answer = await store.changeKey({ from, to, note });
  if (answer === 'exists') throw new KeyProblem('conflict', 'there is a key of this id already');
  if (answer === 'taken') throw new KeyProblem('conflict', 'the secret belongs to another key');
  return answer === 'done';
}

function refuseChange({ version, revokedAt }: KeyRecord, { versions, action }: Act): void {
  if (versions?.includes(version) === false) {
    throw new KeyProblem('outdated', 'the key is not at this version any more');
  }
  requireUnrevoked(revokedAt !== undefined, action);
}

/** A revoked key can only be revoked again. */
export function requireUnrevoked(isRevoked: boolean, action: Act['action']): void {
  if (isRevoked && action !== 'revoke') throw new KeyProblem('conflict', 'the key was revoked');
}

/** Whether the request has been made before. Throws when its name was used for another one. */
export function isMarked({ requests }: KeyRecord, { name, content }: RequestMark): boolean {
  const mark = requests.find((one) => one.name === name);
  if (mark === undefined) return false;
  if (mark.content !== content) {
    throw new KeyProblem('reused', 'this idempotency key belongs to another request');
  }
  return true;
}

/** The key with the request added to those that it knows. The first is kept for good: it may be the one that made the key. */
export function remember(record: KeyRecord, request: RequestMark): KeyRecord {
  const { requests } = record;
  const kept = requests.length < requestsMax ? requests : requests.toSpliced(1, 1);
  return { ...record, requests: [...kept, request] };
}
