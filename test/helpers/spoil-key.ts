import assert from 'node:assert/strict';
import { DatabaseSync } from 'node:sqlite';
import type { StoreAddress } from '../../src/config/config.ts';
import type { RedisServer } from './redis-server.ts';

/** Does to the record of a key in a store what a hand, or an eviction, may do to it. */
export async function spoilKey(
  at: StoreAddress,
  id: string,
  { how, redis }: { readonly how: 'damaged' | 'gone'; readonly redis?: Pick<RedisServer, 'say'> },
): Promise<void> {
  if (at.kind === 'sqlite') {
    const database = new DatabaseSync(at.path, { enableForeignKeyConstraints: false });
    if (how === 'gone') database.prepare('DELETE FROM keys WHERE id = ?').run(id);
    else database.prepare("UPDATE keys SET record = '{rubbish' WHERE id = ?").run(id);
    database.close();
    return;
  }
  const name = `${at.prefix}{keys}:record:${id}`;
  assert.ok(redis);
  await redis.say(...(how === 'gone' ? ['DEL', name] : ['SET', name, '1 {rubbish']));
}
