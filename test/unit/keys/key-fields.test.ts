import assert from 'node:assert/strict';
import { test } from 'node:test';
import { amendKey } from '../../../src/keys/key-fields.ts';
import { createKeyFormat } from '../../../src/keys/key-format.ts';
import { KeyProblem } from '../../../src/keys/key-problem.ts';
import { aKey } from '../../helpers/a-key.ts';
import { aPlan } from '../../helpers/a-plan.ts';

const rules = {
  format: createKeyFormat('gh'),
  plans: new Map([['free', aPlan()]]),
  routes: [],
  staticKeys: [],
};
/** The plan has no quota of this name any more. */
const quota = { name: 'gone', limit: 5, per: undefined, timezone: undefined };
const key = aKey({ plan: 'free', quotas: [quota], notBefore: 2000 });

test('a key whose plan has lost a quota can be renamed, and what is wrong with its quotas is said when they change', () => {
  assert.equal(amendKey(key, { name: 'new' }, rules).name, 'new');
  assert.throws(() => amendKey(key, { quotas: [{ ...quota, limit: 6 }] }, rules), KeyProblem);
});

test('what does not differ is the very same record', () => {
  assert.equal(amendKey(key, { name: key.name, quotas: [{ ...quota }] }, rules), key);
});

test('an end that is not after the beginning that the key has is refused', () => {
  for (const expiresAt of [1000, 2000]) {
    assert.throws(() => amendKey(key, { expiresAt }, rules), KeyProblem);
  }
  assert.equal(amendKey(key, { expiresAt: 3000 }, rules).expiresAt, 3000);
});

test('a key can be changed though its plan is gone, and its quotas are held against nothing then', () => {
  const left = aKey({ plan: 'gone', quotas: [] });
  assert.equal(amendKey(left, { quotas: [quota] }, rules).quotas.length, 1);
});

test('labels in another order are the same labels', () => {
  const record = aKey({ plan: 'free', labels: { team: 'voice', tier: '2' } });
  assert.equal(amendKey(record, { labels: { tier: '2', team: 'voice' } }, rules), record);
});
