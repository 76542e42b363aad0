import { exportKey, type ExportedKey } from '../../keys/export-key.ts';
import { atDesk, type CommandFlags } from '../desk.ts';
import { listPages } from '../list-pages.ts';

/** `gatehouse keys export`: the keys of a store, in the form that `keys import` takes into another. */
export function exportKeys({ config }: CommandFlags): Promise<number> {
  return atDesk({ config, readOnly: true }, async ({ config: { plans }, store, terminal }) => {
    const rotating: string[] = [];
    const code = await listPages<ExportedKey['line']>({ limit: 0, all: true, json: true }, terminal, {
      nothing: '',
      idOf: String,
      noun: 'key',
      print: String,
      read: async (cursor = '', limit) => {
        const now = Date.now();
        const listed = await store.keys.listKeys(cursor, limit);
        const items: ExportedKey['line'][] = [];
        for (const { id, found } of listed) {
          const exported = found === undefined ? undefined : exportKey(found.record, { plans, now });
          if (exported !== undefined) items.push(exported.line);
          if (exported?.leavesSecrets === true) rotating.push(id);
        }
        return {
          items,
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
