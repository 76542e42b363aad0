import { exportKey, hasOlderSecrets, type ExportedKey } from '../../keys/export-key.ts';
import { atDesk } from '../desk.ts';
import { listPages } from '../list-pages.ts';
import type { KeysOptions } from './open-book.ts';

/** `gatehouse keys export`: the keys of a store as `keys import` takes them into another. */
export function exportKeys({ config }: KeysOptions): Promise<number> {
  return atDesk({ config, looks: true }, async ({ store: { keys: store }, terminal }) => {
    const rotating: string[] = [];
    const code = await listPages<ExportedKey>({ limit: 0, all: true, json: true }, terminal, {
      nothing: '',
      idOf: ({ id }) => id,
      noun: 'key',
      print: String,
      read: async (cursor = '', limit) => {
        const now = Date.now();
        const listed = await store.listKeys(cursor, limit);
        const records = listed.flatMap(({ found }) => found?.record ?? []);
        const exported = records.flatMap((record) => exportKey(record, now) ?? []);
        const ids = new Set(exported.map(({ id }) => id));
        for (const record of records)
          if (ids.has(record.id) && hasOlderSecrets(record, now)) rotating.push(record.id);
        return {
          items: exported,
          unreadable: listed.filter(({ found }) => found === undefined).map(({ id }) => id),
          next: listed.length < limit ? null : (listed.at(-1)?.id ?? null),
        };
      },
    });
    if (rotating.length > 0) terminal.stderr.write(leftBehind(rotating));
    return code;
  });
}

const namedMax = 10;

function leftBehind(ids: readonly string[]): string {
  const more = ids.length > namedMax ? ` and ${ids.length - namedMax} more` : '';
  const named = ids.slice(0, namedMax).join(', ');
  return `gatehouse: of keys in the overlap of a rotation only the newest secret is exported: ${named}${more}\n`;
}
