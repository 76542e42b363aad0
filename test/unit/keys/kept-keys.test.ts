import assert from 'node:assert/strict';
import { test } from 'node:test';
import { foundIn, type FoundKey } from '../../../src/keys/found-key.ts';
import { KeptKeys, keptKeysMax } from '../../../src/keys/kept-keys.ts';
import type { KeyRecord } from '../../../src/stores/key-store.ts';
import { aKey, aSecret, digestOf } from '../../helpers/a-key.ts';

function found(over: Partial<KeyRecord> = {}): FoundKey {
  const record = aKey(over);
  return foundIn(record, record.secrets[0]?.digest ?? '') ?? assert.fail();
}

function keep(kept: KeptKeys, key: FoundKey, asOf = 0): void {
  kept.set({ found: key, readAt: 12, asOf });
}

test('a key comes back as it was, whatever it has', () => {
  const kept = new KeptKeys();
  const keys = [
    found(),
    found({
      id: 'all',
      version: 7,
      plan: 'größer "x"',
      owner: 'Größe & Co.',
      quotas: [
        { name: 'daily', limit: 5, per: 'day', timezone: 'Europe/Berlin' },
        { name: 'monthly', limit: 9, per: undefined, timezone: undefined },
      ],
      scopes: ['voice', '/v1/*'],
      networks: ['10.0.0.0/8'],
      notBefore: 0,
      expiresAt: 1_800_000_000_000,
      enabled: false,
      revokedAt: 1_700_000_000_000,
      secrets: [aSecret({ number: 4, expiresAt: 1_900_000_000_000 })],
    }),
  ];
  for (const key of keys) keep(kept, key, 3);
  for (const key of keys) {
    for (let time = 0; time < 2; time += 1) {
      const back = kept.get(key.digest);
      assert.deepEqual(plain(back?.found), plain(key));
      assert.deepEqual([back?.readAt, back?.asOf], [12, 3]);
    }
  }
  keep(kept, { ...keys[0], plan: 'another' } as FoundKey);
  assert.equal(
    kept.get(keys[0]?.digest ?? '')?.found.plan,
    'another',
    'not the one that was unpacked before',
  );
});

/** What is undefined means the same as what is absent. */
function plain(key: FoundKey | undefined): unknown {
  return JSON.parse(JSON.stringify(key));
}

test('there is room for fifty thousand, and then for the newest', () => {
  const kept = new KeptKeys();
  const digests = Array.from({ length: keptKeysMax + 1 }, (_, at) => digestOf(`${at}`));
  const key = found({ id: 'key_01kay0000000example0', plan: 'professional', owner: 'org_01kay00000000000' });
  for (const digest of digests) keep(kept, { ...key, digest });
  assert.equal(kept.get(digests[0] ?? ''), undefined);
  for (const digest of digests.slice(1)) assert.equal(kept.get(digest)?.found.digest, digest);
});

test('keys are deleted by their ids, packed or not, also those that no id of ours looks like', () => {
  const kept = new KeptKeys();
  const ids = ['a', 'b"c', 'b\\', 'ü', 'other'];
  const keys = ids.map((id) => found({ id }));
  for (const key of keys) keep(kept, key);
  kept.get(keys[0]?.digest ?? '');
  kept.deleteKeys(new Map(ids.slice(0, -1).map((id) => [id, 1])));
  assert.deepEqual(
    keys.map(({ digest }) => kept.get(digest)?.found.id),
    [undefined, undefined, undefined, undefined, 'other'],
  );
});
