import type { DatabaseSync } from 'node:sqlite';
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
  feedEntriesMax,
  type AddAnswer,
  type AuditEntry,
  type AuditNote,
  type ChangeAnswer,
  type KeyChange,
  type KeyRecord,
  type KeyStore,
  type KnownKey,
} from '../key-store.ts';
import { eventsPerReading, type FeedAnswer } from '../watch-changes.ts';
import type { Synchronous } from './transact.ts';

interface KeyCalls extends Synchronous<Omit<KeyStore, 'watch'>> {
  readKeyChanges(cursor: string | undefined): FeedAnswer;
}

export function prepareKeys(database: DatabaseSync, clock: () => number): KeyCalls {
  const sql = prepareKeyStatements(database);

  function known(row: Row): KnownKey {
    const record = recordOf(row);
    const uses = sql.uses.all(record.id, secretsTold(record).at(-1) ?? 0);
    return { record, usedAt: usesOf(uses.map((use) => [Number(use['secret']), use['used']])) };
  }

  function ownerOf(digest: string): string | undefined {
    const owner = sql.owner.get(blob(digest))?.['key'];
    return owner === undefined ? undefined : String(owner);
  }

  /** Both logs are pruned as they grow, so neither ever needs a long pass. */
  function audit(note: AuditNote, keys: number): void {
    const now = clock();
    const { lastInsertRowid: audited } = sql.addAudit.run(now, keys, encodeAuditNote(note));
    sql.pruneAudit.run(Number(audited) - auditEntriesMax, now - auditKeptMs);
  }

  function log(note: AuditNote, { keys, event }: { keys: number; event: string | null }): void {
    audit(note, keys);
    const { lastInsertRowid: told } = sql.addChange.run(event);
    sql.pruneChanges.run(Number(told) - feedEntriesMax);
  }

  /** A secret that the key no longer has stays reserved for it: importing an old file must not make it work again. */
  function write(record: KeyRecord): void {
    sql.put.run(record.id, record.version, encodeKeyRecord(record));
    for (const { digest } of record.secrets) sql.own.run(blob(digest), record.id);
  }

  function change({ from, to, note }: KeyChange): ChangeAnswer {
    const held = sql.version.get(to.id)?.['version'];
    if (from === undefined && held !== undefined) return 'exists';
    if (from !== undefined && held === undefined) return 'missing';
    if (from !== undefined && held !== from.version) return 'outdated';
    const owners = to.secrets.map(({ digest }) => ownerOf(digest));
    if (owners.some((owner) => owner !== undefined && owner !== to.id)) return 'taken';
    write(to);
    log(note, { keys: 1, event: from === undefined ? null : to.id });
    return 'done';
  }

  function add(record: KeyRecord): AddAnswer {
    for (const { digest } of record.secrets) {
      const id = ownerOf(digest);
      if (id !== undefined) return { kind: sql.version.get(id) === undefined ? 'lost' : 'known', id };
    }
    if (sql.version.get(record.id) !== undefined) return { kind: 'id_taken' };
    write(record);
    return { kind: 'added' };
  }

  return {
    findKey(digest) {
      const row = sql.find.get(blob(digest));
      return stillHolding(row === undefined ? undefined : recordOf(row), digest);
    },
    readKey(id) {
      const row = sql.read.get(id);
      return row === undefined ? undefined : known(row);
    },
    listKeys: (after, limit) =>
      sql.list.all(after, limit).map((row) => asListed(String(row['id']), () => known(row))),
    changeKey: change,
    addKeys(records, note) {
      const answers = records.map(add);
      const added = answers.filter(({ kind }) => kind === 'added').length;
      if (added > 0) log(note, { keys: added, event: null });
      return answers;
    },
    noteUses(uses) {
      for (const { keyId, secretNumber, at } of uses) sql.use.run(keyId, secretNumber, at);
    },
    addAudit: (note) => audit(note, 1),
    listAudit: (before, limit) => {
      const from = before === undefined ? Number.MAX_SAFE_INTEGER : Number(before);
      return sql.audit
        .all(Number.isSafeInteger(from) ? from : 0, limit)
        .map((row) => asListed(String(row['seq']), () => entryOf(row)));
    },
    readKeyChanges(cursor) {
      const { first, last } = sql.changesSpan.get() ?? {};
      const [oldest, newest] = [Number(first ?? 1), Number(last ?? 0)];
      if (cursor === undefined) return { cursor: String(newest), events: [] };
      const since = Number(cursor);
      // Older than what is still there, or ahead of all of it: then this is another file than before.
      if (since > newest || since < oldest - 1) return { cursor: String(newest), events: undefined };
      const rows = sql.changes.all(since);
      const events = rows.map(({ key }) =>
        key === null ? ({ kind: 'added' } as const) : ({ kind: 'changed', keyId: String(key) } as const),
      );
      return { cursor: String(rows.at(-1)?.['seq'] ?? since), events };
    },
  };
}

type Row = Readonly<Record<string, unknown>>;

function recordOf(row: Row): KeyRecord {
  return decodeKeyRecord(String(row['id']), Number(row['version']), String(row['record']));
}

function entryOf(row: Row): AuditEntry {
  const head = { id: String(row['seq']), at: Number(row['at']), keys: Number(row['keys']) };
  return decodeAuditEntry(head, String(row['note']));
}

function blob(digest: string): Buffer {
  return Buffer.from(digest, 'hex');
}

function prepareKeyStatements(database: DatabaseSync) {
  /** As a number, one that somebody wrote beyond 2^53 would fail the whole list that it is in. */
  const prepareExact = (text: string) => database.prepare(text, { readBigInts: true });
  return {
    find: prepareExact('SELECT id, version, record FROM secrets JOIN keys ON id = key WHERE digest = ?'),
    read: prepareExact('SELECT id, version, record FROM keys WHERE id = ?'),
    list: prepareExact('SELECT id, version, record FROM keys WHERE id > ? ORDER BY id LIMIT ?'),
    version: database.prepare('SELECT version FROM keys WHERE id = ?'),
    owner: database.prepare('SELECT key FROM secrets WHERE digest = ?'),
    put: database.prepare(`
      INSERT INTO keys VALUES (?, ?, ?)
      ON CONFLICT DO UPDATE SET version = excluded.version, record = excluded.record`),
    own: database.prepare('INSERT INTO secrets VALUES (?, ?) ON CONFLICT DO NOTHING'),
    uses: prepareExact('SELECT secret, used FROM uses WHERE key = ? AND secret >= ?'),
    use: database.prepare(`
      INSERT INTO uses VALUES (?, ?, ?) ON CONFLICT DO UPDATE SET used = max(used, excluded.used)`),
    addAudit: database.prepare('INSERT INTO audit (at, keys, note) VALUES (?, ?, ?)'),
    audit: prepareExact('SELECT seq, at, keys, note FROM audit WHERE seq < ? ORDER BY seq DESC LIMIT ?'),
    pruneAudit: database.prepare(`
      DELETE FROM audit
      WHERE seq IN (SELECT seq FROM audit ORDER BY seq LIMIT 8) AND (seq <= ? OR at < ?)`),
    addChange: database.prepare('INSERT INTO key_changes (key) VALUES (?)'),
    changesSpan: database.prepare(
      'SELECT (SELECT min(seq) FROM key_changes) AS first, (SELECT max(seq) FROM key_changes) AS last',
    ),
    changes: database.prepare(
      `SELECT seq, key FROM key_changes WHERE seq > ? ORDER BY seq LIMIT ${eventsPerReading}`,
    ),
    pruneChanges: database.prepare('DELETE FROM key_changes WHERE seq <= ?'),
  };
}
