import type { DatabaseSync } from 'node:sqlite';
import type { Ledger } from '../ledger.ts';
import { placeExpiresMaxMs } from '../retention.ts';
import type { Synchronous } from './transact.ts';

type PlaceCalls = Synchronous<Pick<Ledger, 'enter' | 'stay' | 'leave'>>;

export function preparePlaces(database: DatabaseSync, clock: () => number): PlaceCalls {
  const count = database.prepare(
    'SELECT count(*) AS taken FROM places WHERE key = ? AND expires > ? AND expires <= ? AND place <> ?',
  );
  const take = database.prepare(
    'INSERT INTO places VALUES (?, ?, ?) ON CONFLICT DO UPDATE SET expires = excluded.expires',
  );
  const leave = database.prepare('DELETE FROM places WHERE key = ? AND place = ?');
  // Two are deleted for each one that comes, so those of crashed processes and of keys that are gone do not pile up.
  const prune = database.prepare(`
    DELETE FROM places WHERE (key, place) IN (SELECT key, place FROM places WHERE expires <= ? LIMIT 2)`);

  return {
    enter({ keyId, placeId, limit, expiresInMs }) {
      const now = clock();
      if (Number(count.get(keyId, now, now + placeExpiresMaxMs, placeId)?.['taken']) >= limit) return 'full';
      prune.run(now);
      take.run(keyId, placeId, now + expiresInMs);
      return 'entered';
    },
    stay({ keyId, placeId, expiresInMs }) {
      take.run(keyId, placeId, clock() + expiresInMs);
      // As a row it would be one of the key's places once the clock went back.
      if (expiresInMs === 0) leave.run(keyId, placeId);
    },
    leave: (keyId, placeId) => void leave.run(keyId, placeId),
  };
}
