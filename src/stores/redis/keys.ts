import {
  asListed,
  decodeAuditEntry,
  decodeKeyRecord,
  encodeAuditNote,
  encodeKeyRecord,
  secretsTold,
  stillHolding,
  usesOf,
} from '../key-record.ts';
import {
  auditEntriesMax,
  auditKeptMs,
  changeAnswers,
  feedEntriesMax,
  type AddAnswer,
  type AuditEntry,
  type ChangeAnswer,
  type KeyEvent,
  type KeyRecord,
  type KeyStore,
  type KnownKey,
} from '../key-store.ts';
import type { StoreOptions } from '../store.ts';
import { eventsPerReading, watchChanges, type FeedAnswer } from '../watch-changes.ts';
import { notUnderstood } from './failures.ts';
import type { Link } from './link.ts';
import { keysTag } from './names.ts';
import { callOf, scripts } from './scripts.ts';

interface RedisKeysOptions {
  readonly prefix: string;
  readonly isCluster: boolean;
  /** Calls back whenever something is published on the channel. Returns how to stop. */
  readonly listen: (channel: string, onNews: () => void) => () => void;
  readonly onSetBack: StoreOptions['onSetBack'] | undefined;
}

/** Twice in the second within which a change must be seen, for when the channel is silent. */
const pollMs = 400;

/**
 * Keys in Redis. All of them share one hash tag, so that a key, its secrets, the audit log and the change feed change in one step
 * in a cluster too. They live on one node there, which the caches of the gateways keep from being asked much.
 */
export function createRedisKeys(
  link: Link,
  { prefix, isCluster, listen, onSetBack }: RedisKeysOptions,
): KeyStore {
  const names = nameAll(prefix);
  const logs = [auditEntriesMax, auditKeptMs, feedEntriesMax, names.channel] as const;

  async function readRecord(id: string): Promise<KeyRecord | undefined> {
    const name = names.record(id);
    const text = await link.send(name, (redis) => redis.get(name));
    return text === null ? undefined : decode(id, text);
  }

  /** In one step, because a request with a key that is new here waits for it: 9 % more of those per second than with two. */
  async function lookUp(digest: string): Promise<KeyRecord | undefined> {
    const answer = await link.run(scripts.findKey, [names.secret(digest)], [names.record('')]);
    if (answer === null) return undefined;
    if (typeof answer !== 'string') throw notUnderstood();
    const space = answer.indexOf(' ');
    return decode(answer.slice(0, space), answer.slice(space + 1));
  }

  /** While a slot moves to another node of a cluster, only commands on a single name are sure to find it. */
  async function followSecret(digest: string): Promise<KeyRecord | undefined> {
    const name = names.secret(digest);
    const id = await link.send(name, (redis) => redis.get(name));
    return id === null ? undefined : readRecord(id);
  }

  async function withUses(records: readonly KeyRecord[]): Promise<readonly KnownKey[]> {
    const told = records.map((record) => ({ record, numbers: secretsTold(record) }));
    const uses = told.flatMap(({ record, numbers }) => numbers.map((number) => useOf(record.id, number)));
    if (uses.length === 0) return records.map((record) => ({ record, usedAt: new Map() }));
    const times = list(await link.send(names.uses, (redis) => redis.hmget(names.uses, ...uses))).values();
    return told.map(({ record, numbers }) => ({
      record,
      usedAt: usesOf(numbers.map((number) => [number, times.next().value] as const)),
    }));
  }

  async function readChanges(cursor: string | undefined): Promise<FeedAnswer> {
    // Bypasses the breaker: a revoked key must be heard of, whatever else is failing.
    const answer = await link.ask(
      callOf(
        scripts.keyChanges,
        [names.changes, names.ids],
        [cursor ?? '', eventsPerReading, feedEntriesMax],
      ),
    );
    const [next = '', ...keys] = strings(answer);
    if (!next.startsWith('?')) return { cursor: next, events: keys.map(eventOf) };
    const [kept] = keys;
    if (kept !== undefined) onSetBack?.({ since: timeOf(kept), until: timeOf(cursor ?? '') });
    return { cursor: next.slice(1), events: undefined };
  }

  return {
    async findKey(digest) {
      return stillHolding(await (isCluster ? followSecret(digest) : lookUp(digest)), digest);
    },
    async readKey(id) {
      const record = await readRecord(id);
      return record === undefined ? undefined : (await withUses([record]))[0];
    },
    async listKeys(after, limit) {
      const ids = strings(
        await link.send(names.ids, (redis) =>
          redis.zrangebylex(names.ids, `(${after}`, '+', 'LIMIT', 0, limit),
        ),
      );
      if (ids.length === 0) return [];
      const texts: readonly unknown[] = list(
        await link.send(names.ids, (redis) => redis.mget(...ids.map(names.record))),
      );
      const records = ids.map((id, at) => asListed(id, () => decode(id, texts[at])));
      const known = await withUses(records.flatMap(({ found }) => found ?? []));
      const found = new Map(known.map((key) => [key.record.id, key]));
      return ids.map((id) => ({ id, found: found.get(id) }));
    },
    async changeKey(change) {
      const { from, to, note } = change;
      const secrets = to.secrets.map(({ digest }) => names.secret(digest));
      const keys = [names.record(to.id), names.ids, names.audit, names.changes, ...secrets];
      const args = [from?.version ?? '', to.id, encode(to), encodeAuditNote(note), ...logs];
      return readChangeAnswer(await link.run(scripts.changeKey, keys, args));
    },
    async addKeys(records, note) {
      const pairs = records.flatMap((record) => [
        names.record(record.id),
        names.secret(record.secrets[0]?.digest ?? ''),
      ]);
      const answer = await link.run(
        scripts.addKeys,
        [names.ids, names.audit, names.changes, ...pairs],
        [encodeAuditNote(note), ...logs, ...records.flatMap((record) => [record.id, encode(record)])],
      );
      return strings(answer).map(addAnswerOf);
    },
    async noteUses(uses) {
      const fields = uses.flatMap(({ keyId, secretNumber, at }) => [useOf(keyId, secretNumber), String(at)]);
      await link.run(scripts.noteUses, [names.uses], fields);
    },
    async addAudit(note) {
      const bounds = [auditEntriesMax, auditKeptMs];
      await link.run(scripts.addAudit, [names.audit], [encodeAuditNote(note), ...bounds]);
    },
    async listAudit(before, limit) {
      const from = before === undefined ? '+' : `(${before}`;
      const entries = await link.send(names.audit, (redis) =>
        redis.xrevrange(names.audit, from, '-', 'COUNT', limit),
      );
      return list(entries).map((entry) => {
        const [id, fields] = list(entry);
        return asListed(String(id), () => entryOf(String(id), strings(fields)));
      });
    },
    watch(onEvent, attempt) {
      const feed = {
        pollMs,
        read: readChanges,
        listen: (onNews: () => void) => listen(names.channel, onNews),
      };
      return watchChanges(feed, onEvent, attempt);
    },
  };
}

function nameAll(prefix: string) {
  const tag = `${prefix}${keysTag}`;
  return {
    record: (id: string) => `${tag}:record:${id}`,
    secret: (digest: string) => `${tag}:secret:${Buffer.from(digest, 'hex').toString('base64url')}`,
    ids: `${tag}:ids`,
    uses: `${tag}:uses`,
    audit: `${tag}:audit`,
    changes: `${tag}:changes`,
    channel: `${prefix}key-changes`,
  };
}

function useOf(id: string, secretNumber: number): string {
  return `${secretNumber}:${id}`;
}

function encode(record: KeyRecord): string {
  return `${record.version} ${encodeKeyRecord(record)}`;
}

/** A record that is missing, or is not text, cannot be read. */
function decode(id: string, answer: unknown): KeyRecord {
  const text = typeof answer === 'string' ? answer : '';
  const space = text.indexOf(' ');
  return decodeKeyRecord(id, Number(text.slice(0, space)), text.slice(space + 1));
}

function eventOf(key: string): KeyEvent {
  return key === '' ? { kind: 'added' } : { kind: 'changed', keyId: key };
}

/** When an entry of a stream was written; 0 for none. */
function timeOf(id: string): number {
  return Number(id.split('-')[0]);
}

function addAnswerOf(answer: string): AddAnswer {
  if (answer === '+') return { kind: 'added' };
  if (answer.startsWith('=')) return { kind: 'known', id: answer.slice(1) };
  return answer.startsWith('?') ? { kind: 'lost', id: answer.slice(1) } : { kind: 'id_taken' };
}

function readChangeAnswer(answer: unknown): ChangeAnswer {
  const known = changeAnswers.find((one) => one === answer);
  if (known === undefined) throw notUnderstood();
  return known;
}

function entryOf(id: string, fields: readonly string[]): AuditEntry {
  const value = (name: string): string => fields[fields.indexOf(name) + 1] ?? '';
  return decodeAuditEntry({ id, at: timeOf(id), keys: Number(value('keys')) }, value('note'));
}

function strings(answer: unknown): string[] {
  if (!Array.isArray(answer)) throw notUnderstood();
  return answer.map(String);
}

/** An answer that should be a list; throws if it is not. */
function list<T>(answer: readonly T[]): readonly T[] {
  if (!Array.isArray(answer)) throw notUnderstood();
  return answer;
}
