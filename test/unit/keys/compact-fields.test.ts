import assert from 'node:assert/strict';
import { test } from 'node:test';
import { readLabels, readQuota } from '../../../src/keys/compact-fields.ts';

test('labels are names with values, which may be empty and may hold the sign themselves', () => {
  assert.deepEqual(readLabels(['team=voice', 'note=', 'sum=a=b']), { team: 'voice', note: '', sum: 'a=b' });
  for (const wrong of ['team', '=voice', '']) {
    assert.throws(() => readLabels([wrong]), { message: 'label is written name=value' });
  }
  assert.throws(() => readLabels(['a=1', 'a=2']), { message: 'label has a name twice' });
});

test('a quota is a name with a limit, and maybe a period and its zone', () => {
  const none = { per: undefined, timezone: undefined };
  assert.deepEqual({ ...readQuota('monthly=5000') }, { name: 'monthly', limit: 5000, ...none });
  const berlin = { name: 'daily', limit: 200, per: 'day', timezone: 'Europe/Berlin' };
  assert.deepEqual({ ...readQuota('daily=200/day@Europe/Berlin') }, berlin);
  for (const wrong of ['monthly', '=5', 'a=b=5', 'monthly=', 'm=-5', 'm=5k', 'm=5@UTC', 'm=5/day@'])
    assert.throws(() => readQuota(wrong), /quota is written monthly=5000/, wrong);
});
