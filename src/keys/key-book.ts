import type { KeyRecord, RequestMark } from '../stores/key-store.ts';
import { addKey, changeKey, isMarked, remember, requireKey, type Act, type By } from './change-key.ts';
import { importKeys, type ImportLine, type ImportOptions } from './imports/import-keys.ts';
import { amendKey, type KeyFields, type WrittenFields } from './key-fields.ts';
import { createKeyId, keyIdOf } from './key-id.ts';
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
import { viewKey, type KeyView } from './key-view.ts';
import { readNewKey } from './new-key.ts';
import { readKeyFields } from './read-key-fields.ts';
import { createSecret, rotateSecrets, type NewSecret } from './secrets.ts';
import { verifyKey, type Verdict } from './verify-key.ts';

/** A key with a secret made for it. This is the only time that the secret is seen. */
export interface FreshSecret {
  readonly key: KeyView;
  readonly secret: string;
}

export type Rotation = FreshSecret & NewSecret;

/** What a named request came to when it was made before. Its secret was told then. */
export interface Repeat {
  readonly key: KeyView;
  readonly secret: null;
}

export type KeyBook = ReturnType<typeof createKeyBook>;

interface Overlap {
  readonly overlapMs: number;
}

/** The longest that old secrets may go on working beside a new one. */
export const overlapMsMax = 90 * 86_400_000;

/**
 * All that can be done with keys, for the command line and the admin API alike. What cannot be done rejects with a
 * `KeyProblem` and changes nothing; a store that fails rejects with `StoreUnavailable`.
 */
export function createKeyBook(tools: KeyTools) {
  const { store, rules, now } = tools;

  async function set(id: string, act: Act, amend: (record: KeyRecord) => KeyRecord): Promise<KeyView> {
    const edit = (record: KeyRecord) => ({ record: amend(record), made: undefined });
    const { key } = await changeKey(id, { ...act, edit }, tools);
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
    await addKey(record, by, tools);
    return { key: viewKey({ record, usedAt: new Map() }, at), secret: fresh.secret };
  }

  /** Undefined when there is no key of that id. */
  async function repeatOf(id: string, request: RequestMark): Promise<Repeat | undefined> {
    const known = await store.readKey(id);
    if (known === undefined) return undefined;
    if (isMarked(known.record, request)) return { key: viewKey(known, now()), secret: null };
    throw new KeyProblem('conflict', 'there is a key of this id already');
  }

  return {
    /** Makes a key with a secret. Fields are those of `KeyFields`, and `id` to choose it. */
    async create(written: WrittenFields, by: By): Promise<FreshSecret> {
      const { id = createKeyId(now()), fields } = readNewKey(written, rules);
      return make(fields, by, { id, requests: [] });
    },
    /**
     * The same under a name that the caller chose: a repeat, on any gateway, makes no second key. The id comes from the name, so it
     * cannot be chosen.
     */
    async createOnce(written: WrittenFields, by: By, request: RequestMark): Promise<FreshSecret | Repeat> {
      if (written['id'] !== undefined) {
        const why = 'cannot be chosen beside an idempotency key: a key of a chosen id is made once anyway';
        throw invalidField('id', why);
      }
      const id = keyIdOf(request.name);
      const before = await repeatOf(id, request);
      if (before !== undefined) return before;
      try {
        return await make(readNewKey(written, rules).fields, by, { id, requests: [request] });
      } catch (error) {
        // Of several that come at once, one is the first.
        const isThere = error instanceof KeyProblem && error.code === 'conflict';
        const repeat = isThere ? await repeatOf(id, request) : undefined;
        if (repeat === undefined) throw error;
        return repeat;
      }
    },
    list: (query: KeyQuery): Promise<Page<KeyView>> => listKeys(store, query, now),
    async show(id: string): Promise<KeyView> {
      return viewKey(await requireKey(id, tools), now());
    },
    /** Changes the fields that are written; `null` empties one. */
    async update(id: string, written: WrittenFields, by: By): Promise<KeyView> {
      const fields = readKeyFields(written, rules);
      return set(id, { ...by, action: 'update' }, (record) => amendKey(record, fields, rules));
    },
    /** Makes a new secret. Earlier ones work for at most `overlapMs` longer, 0 = not at all. Usage belongs to the key and stays. */
    async rotate(id: string, { overlapMs }: Overlap, by: By): Promise<Rotation> {
      checkOverlap(overlapMs);
      const at = now();
      const edit = (record: KeyRecord) => rotateSecrets(record, rules, { at, overlapMs });
      const { key, made } = await changeKey(id, { ...by, action: 'rotate', edit }, tools);
      return { key, ...made };
    },
    /** The same under a name that the caller chose: a repeat makes no second secret, unless seven others came between. */
    async rotateOnce(
      id: string,
      { overlapMs }: Overlap,
      by: By,
      request: RequestMark,
    ): Promise<Rotation | Repeat> {
      checkOverlap(overlapMs);
      const at = now();
      const edit = (record: KeyRecord) =>
        isMarked(record, request)
          ? { record, made: undefined }
          : rotateSecrets(remember(record, request), rules, { at, overlapMs });
      const { key, made } = await changeKey(id, { ...by, action: 'rotate', edit, request }, tools);
      return made === undefined ? { key, secret: null } : { key, ...made };
    },
    revoke: (id: string, by: By) =>
      set(id, { ...by, action: 'revoke' }, (record) =>
        record.revokedAt === undefined ? { ...record, revokedAt: now() } : record,
      ),
    disable: (id: string, by: By) => setEnabled(id, false, by),
    enable: (id: string, by: By) => setEnabled(id, true, by),
    importKeys: (lines: AsyncIterable<ImportLine>, options: ImportOptions, by: By): Promise<void> =>
      importKeys(lines, { ...options, actor: by.actor }, tools),
    /** Says what the gateway would say to this secret, from this address if there is one, and why. */
    verify: (secret: string, client?: string): Promise<Verdict> => verifyKey(secret, client, tools),
    listAudit: (query: AuditQuery): Promise<Page<AuditView>> => listAudit(store, query),
  };
}

function checkOverlap(overlapMs: number): void {
  if (overlapMs >= 0 && overlapMs <= overlapMsMax) return;
  throw invalidField('overlap', 'must be between nothing and 90 days');
}
