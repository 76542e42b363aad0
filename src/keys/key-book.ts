import { setTimeout as pause } from 'node:timers/promises';
import type { KeyRecord, KnownKey, RequestMark } from '../stores/key-store.ts';
import { amendKey } from './amend-key.ts';
import { importKeys, type ImportLine, type ImportOptions, type ImportReport } from './imports/import-keys.ts';
import type { KeyFields, WrittenFields } from './key-fields.ts';
import { createKeyId, isKeyId, keyIdOf } from './key-id.ts';
import {
  listAudit,
  listKeys,
  type AuditView,
  type AuditQuery,
  type KeyQuery,
  type Page,
} from './key-pages.ts';
import { invalidField, KeyProblem } from './key-problem.ts';
import type { KeyTools } from './key-rules.ts';
import { differences, viewKey, type KeyView } from './key-view.ts';
import { readNewKey } from './new-key.ts';
import { readKeyFields } from './read-key-fields.ts';
import { isMarked, remember } from './request-marks.ts';
import { createSecret, rotateSecrets, type NewSecret } from './secrets.ts';
import { verifyKey, type Verdict } from './verify-key.ts';

/** Who changes a key, and from which version of it. */
export interface By {
  /** The name that the audit log keeps: a user or a token, never a secret. */
  readonly actor: string;
  /** The change is refused as outdated when the key is at none of these versions. */
  readonly versions?: readonly number[] | undefined;
}

/** A key with a secret made for it. This is the only time that the secret is seen. */
export interface FreshSecret {
  readonly key: KeyView;
  readonly secret: string;
}

/** The same of a rotation. */
export type Rotation = FreshSecret & NewSecret;

/** What a named request came to when it was made before. Its secret was told then. */
export interface Repeat {
  readonly key: KeyView;
  readonly secret: null;
}

/**
 * All that can be done with keys, for the command line and the admin API alike. What cannot be done rejects with a
 * `KeyProblem` and changes nothing; a store that fails rejects with `StoreUnavailable`.
 */
export interface KeyBook {
  /** Makes a key with a secret. Fields are those of `KeyFields`, and `id` to choose it. */
  create(fields: WrittenFields, by: By): Promise<FreshSecret>;
  /**
   * The same under a name that the caller chose: a repeat, on any gateway, makes no second key. The id comes from the name, so it
   * cannot be chosen.
   */
  createOnce(fields: WrittenFields, by: By, request: RequestMark): Promise<FreshSecret | Repeat>;
  list(query: KeyQuery): Promise<Page<KeyView>>;
  show(id: string): Promise<KeyView>;
  /** Changes the fields that are written; `null` empties one. */
  update(id: string, fields: WrittenFields, by: By): Promise<KeyView>;
  /** Makes a new secret. Earlier ones work for at most `overlapMs` longer, 0 = not at all. Usage belongs to the key and stays. */
  rotate(id: string, options: { readonly overlapMs: number }, by: By): Promise<Rotation>;
  /** The same under a name that the caller chose: a repeat makes no second secret, unless seven others came between. */
  rotateOnce(
    id: string,
    options: { readonly overlapMs: number },
    by: By,
    request: RequestMark,
  ): Promise<Rotation | Repeat>;
  /** Ends a key for ever. */
  revoke(id: string, by: By): Promise<KeyView>;
  disable(id: string, by: By): Promise<KeyView>;
  enable(id: string, by: By): Promise<KeyView>;
  importKeys(lines: AsyncIterable<ImportLine>, options: ImportOptions, by: By): Promise<ImportReport>;
  /** Says what the gateway would say to this secret, from this address if there is one, and why. */
  verify(secret: string, client?: string): Promise<Verdict>;
  listAudit(query: AuditQuery): Promise<Page<AuditView>>;
}

/** The longest that old secrets may go on working beside a new one. */
export const overlapMsMax = 90 * 86_400_000;
/**
 * When somebody else changes the key meanwhile, and no version was asked for, the change is retried this often, so that nobody
 * can keep an exposed key alive by changing it. With twenty writers that never pause, one attempt in sixteen succeeds.
 */
const attemptsMax = 200;
/** Before another attempt, so that those that came together do not meet again. */
const pauseMaxMs = 10;

/** Opens the book on a store. */
export function createKeyBook({ store, rules, now }: KeyTools): KeyBook {
  async function find(id: string): Promise<KnownKey> {
    const known = isKeyId(id) ? await store.readKey(id) : undefined;
    if (known !== undefined) return known;
    const isStatic = rules.staticKeys.some((key) => key.id === id);
    throw new KeyProblem(
      'not_found',
      isStatic
        ? 'this key stands in the configuration file, and is seen and changed there'
        : 'there is no such key',
    );
  }

  async function put(from: KeyRecord | undefined, to: KeyRecord, { actor, action }: Act): Promise<boolean> {
    const note = { actor, action, keyId: to.id, changes: differences(from, to) };
    const answer = await store.changeKey({ from, to, note });
    if (answer === 'exists') throw new KeyProblem('conflict', 'there is a key of this id already');
    if (answer === 'taken') throw new KeyProblem('conflict', 'the secret belongs to another key');
    return answer === 'done';
  }

  /**
   * Reads a key, changes it and writes it. A change that comes to nothing is neither written nor audited. A revoked key can only
   * be revoked again.
   */
  async function change<Made>(id: string, act: Act, edit: Edit<Made>): Promise<Changed<Made>> {
    for (let attempt = 1; attempt <= attemptsMax; attempt += 1) {
      const known = await find(id);
      const { record } = known;
      if (act.versions?.includes(record.version) === false) throw outdated();
      if (record.revokedAt !== undefined && act.action !== 'revoke') {
        throw new KeyProblem('conflict', 'the key was revoked');
      }
      const { record: to, made } = edit(record);
      if (to === record) return { key: viewKey(known, now()), made };
      const next = { ...to, version: record.version + 1 };
      if (await put(record, next, act)) return { key: viewKey({ ...known, record: next }, now()), made };
      if (act.versions !== undefined) throw outdated();
      await pause(Math.random() * pauseMaxMs);
    }
    throw new KeyProblem('conflict', 'others keep changing the key');
  }

  async function set(id: string, act: Act, edit: (record: KeyRecord) => KeyRecord): Promise<KeyView> {
    const { key } = await change(id, act, (record) => ({ record: edit(record), made: undefined }));
    return key;
  }

  function setEnabled(id: string, enabled: boolean, by: By): Promise<KeyView> {
    const action = enabled ? 'enable' : 'disable';
    return set(id, { ...by, action }, (record) =>
      record.enabled === enabled ? record : { ...record, enabled },
    );
  }

  async function make(
    fields: KeyFields,
    by: By,
    { id, requests }: Pick<KeyRecord, 'id' | 'requests'>,
  ): Promise<FreshSecret> {
    const at = now();
    const fresh = createSecret(rules, 1, at);
    const whole = { ...fields, id, version: 1, revokedAt: undefined, createdAt: at };
    const record = { ...whole, secrets: [fresh.kept], requests };
    await put(undefined, record, { ...by, action: 'create' });
    return { key: viewKey({ record, usedAt: new Map() }, at), secret: fresh.secret };
  }

  function repeatOf(known: KnownKey, request: RequestMark): Repeat {
    if (isMarked(known.record, request)) return { key: viewKey(known, now()), secret: null };
    throw new KeyProblem('conflict', 'there is a key of this id already');
  }

  return {
    async create(written, by) {
      const { id = createKeyId(now()), fields } = readNewKey(written, rules);
      return make(fields, by, { id, requests: [] });
    },
    async createOnce(written, by, request) {
      if (written['id'] !== undefined) {
        const why = 'cannot be chosen beside an idempotency key: a key of a chosen id is made once anyway';
        throw invalidField('id', why);
      }
      const id = keyIdOf(request.name);
      const before = await store.readKey(id);
      if (before !== undefined) return repeatOf(before, request);
      try {
        return await make(readNewKey(written, rules).fields, by, { id, requests: [request] });
      } catch (error) {
        // Of several that come at once, one is the first.
        const meanwhile = isProblem(error, 'conflict') ? await store.readKey(id) : undefined;
        if (meanwhile === undefined) throw error;
        return repeatOf(meanwhile, request);
      }
    },
    list: (query) => listKeys(store, query, now),
    async show(id) {
      return viewKey(await find(id), now());
    },
    update(id, written, by) {
      const fields = readKeyFields(written, rules);
      return set(id, { ...by, action: 'update' }, (record) => amendKey(record, fields, rules));
    },
    async rotate(id, { overlapMs }, by) {
      checkOverlap(overlapMs);
      const at = now();
      const { key, made } = await change(id, { ...by, action: 'rotate' }, (record) =>
        rotateSecrets(record, rules, { at, overlapMs }),
      );
      return { key, ...made };
    },
    async rotateOnce(id, { overlapMs }, by, request) {
      const before = await find(id);
      if (isMarked(before.record, request)) return repeatOf(before, request);
      checkOverlap(overlapMs);
      const at = now();
      try {
        const { key, made } = await change(id, { ...by, action: 'rotate' }, (record) =>
          // Of several that come at once, one is the first.
          isMarked(record, request)
            ? { record, made: undefined }
            : rotateSecrets(remember(record, request), rules, { at, overlapMs }),
        );
        return made === undefined ? { key, secret: null } : { key, ...made };
      } catch (error) {
        // The first of them ended the version that all of them asked for.
        const meanwhile = isProblem(error, 'outdated') ? await find(id) : undefined;
        if (meanwhile === undefined || !isMarked(meanwhile.record, request)) throw error;
        return repeatOf(meanwhile, request);
      }
    },
    revoke: (id, by) =>
      set(id, { ...by, action: 'revoke' }, (record) =>
        record.revokedAt === undefined ? { ...record, revokedAt: now() } : record,
      ),
    disable: (id, by) => setEnabled(id, false, by),
    enable: (id, by) => setEnabled(id, true, by),
    importKeys: (lines, options, by) =>
      importKeys(lines, { ...options, actor: by.actor }, { store, rules, now }),
    verify: (secret, client) => verifyKey(secret, client, { store, rules, now }),
    listAudit: (query) => listAudit(store, query),
  };
}

interface Act extends By {
  readonly action: 'create' | 'update' | 'rotate' | 'enable' | 'disable' | 'revoke';
}

/** What becomes of a key, the very same record for no change; and what was made that the record does not hold. */
type Edit<Made> = (record: KeyRecord) => { readonly record: KeyRecord; readonly made: Made };

interface Changed<Made> {
  readonly key: KeyView;
  readonly made: Made;
}

function checkOverlap(overlapMs: number): void {
  if (overlapMs >= 0 && overlapMs <= overlapMsMax) return;
  throw invalidField('overlap', 'must be between nothing and 90 days');
}

function isProblem(error: unknown, code: KeyProblem['code']): boolean {
  return error instanceof KeyProblem && error.code === code;
}

function outdated(): KeyProblem {
  return new KeyProblem('outdated', 'the key is not at this version any more');
}
