import type { KeyRecord, RequestMark } from '../stores/key-store.ts';
import { KeyProblem } from './key-problem.ts';

const requestsMax = 8;

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
