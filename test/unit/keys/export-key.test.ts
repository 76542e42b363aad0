import assert from 'node:assert/strict';
import { Readable } from 'node:stream';
import { test } from 'node:test';
import { exportKey } from '../../../src/keys/export-key.ts';
import { readCandidate } from '../../../src/keys/imports/read-candidate.ts';
import { readImport } from '../../../src/keys/imports/read-import.ts';
import { createKeyFormat } from '../../../src/keys/key-format.ts';
import { labelsMax, lineLengthMax, networksMax, quotasMax, scopesMax } from '../../../src/keys/key-limits.ts';
import { aKey } from '../../helpers/a-key.ts';
import { aPlan, aQuota } from '../../helpers/lease-scene.ts';

const rules = {
  format: createKeyFormat('gh'),
  plans: new Map([['free', aPlan({ quotas: [aQuota(9, 'month')] })]]),
  routes: [],
  staticKeys: [],
};

test('a quota whose plan has lost its period is exported with the one by which it counts', () => {
  const own = { limit: 5, per: undefined, timezone: undefined };
  const quotas = [
    { ...own, name: 'month' },
    { ...own, name: 'lost' },
    { ...own, name: 'daily', per: 'day' },
  ];
  const { line } = exportKey(aKey({ plan: 'free', quotas }), { ...rules, now: 1 }) ?? assert.fail();
  assert.deepEqual(line['quotas'], [quotas[0], { ...quotas[1], per: 'lifetime' }, quotas[2]]);
  const read = readCandidate(1, line, { rules, now: () => 1, plan: undefined });
  assert.equal(read.kind, 'whole');
});

test('of a key whose plan is gone the quotas are exported as they are', () => {
  const quotas = [{ name: 'lost', limit: 5, per: undefined, timezone: undefined }];
  const exported = exportKey(aKey({ plan: 'gone', quotas }), { ...rules, now: 1 });
  assert.deepEqual(exported?.line['quotas'], quotas);
});

test('a key with everything that it may have can be imported again', async () => {
  const words = '\u{1F600}'.repeat(lineLengthMax);
  const key = aKey({
    plan: 'free',
    name: words,
    owner: words,
    scopes: numbered(scopesMax, (number) => `/${number}`.padEnd(1024, 'x')),
    networks: numbered(networksMax, (number) => `2001:db8:1111:2222:3333:4444:5555:66${number}/128`),
    labels: Object.fromEntries(
      numbered(labelsMax, (number) => number.padEnd(63, 'x')).map((name) => [name, words]),
    ),
    quotas: numbered(quotasMax, (number) => number.padStart(32, 'x')).map((name) => ({
      name,
      limit: Number.MAX_SAFE_INTEGER,
      per: 'lifetime',
      timezone: undefined,
    })),
  });
  const { line } = exportKey(key, { ...rules, now: 1 }) ?? assert.fail();
  const text = Readable.from([Buffer.from(`${JSON.stringify(line)}\n`)]);
  assert.deepEqual(await Array.fromAsync(readImport(text)), [
    { number: 1, fields: JSON.parse(JSON.stringify(line)) as unknown },
  ]);
});

function numbered(count: number, write: (number: string) => string): readonly string[] {
  return Array.from({ length: count }, (_, at) => write(String(at).padStart(2, '0')));
}
