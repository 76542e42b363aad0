import assert from 'node:assert/strict';
import { test } from 'node:test';
import { exportKey } from '../../../src/keys/export-key.ts';
import { readCandidate } from '../../../src/keys/read-candidate.ts';
import { createKeyFormat } from '../../../src/keys/key-format.ts';
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
