import assert from 'node:assert/strict';
import { test } from 'node:test';
import { doubtAbout } from '../../../src/config/weak-secret.ts';
import { createUnknownNames } from '../../../src/keys/unknown-names.ts';

const longest = 'abcdefghijklmn1';

test('a name is told if it is too short for a secret, and what there is instead is told once', () => {
  const tell = createUnknownNames('parameter', ['owner', 'plan']);
  assert.deepEqual(tell(longest), [
    { field: longest, message: 'is not a parameter, choose from owner, plan' },
  ]);
  assert.deepEqual(tell(`${longest}6`), []);
  assert.deepEqual(tell('_x'), [{ field: '_x', message: 'is not a parameter' }]);
  assert.deepEqual(tell('ownr'), [{ field: 'ownr', message: 'is not a parameter, did you mean "owner"?' }]);
  assert.equal(doubtAbout(longest), 'is shorter than 16 characters and can be guessed');
  assert.equal(doubtAbout(`${longest}6`), undefined);
});

test('what may be a secret is not told, and neither is what is no name', () => {
  for (const name of [`${longest}6`, 'a b', 'a-b', '1a', '', 'ä', 'a\n']) {
    const tell = createUnknownNames('field', ['plan']);
    assert.deepEqual(tell(name), [{ field: '', message: 'there is no such field, choose from plan' }]);
    assert.deepEqual(tell(name), []);
  }
});

test('what was meant is told of any name that is near', () => {
  const tell = createUnknownNames('field', ['expiresAt', 'plan']);
  const message = 'there is no such field, did you mean "expiresAt"?';
  assert.deepEqual(tell('expires-at'), [{ field: '', message }]);
});

test('where a secret may be short no name is told', () => {
  const tell = createUnknownNames('field', ['plan'], { mayName: false });
  assert.deepEqual(tell('s3cret'), [{ field: '', message: 'there is no such field, choose from plan' }]);
});

test('of very many names only some are told: each is compared with all that there are', () => {
  const tell = createUnknownNames('field', ['plan']);
  const told = Array.from({ length: 1000 }, (_, at) => tell(`n${at}`)).flat();
  assert.equal(told.length, 32);
  assert.deepEqual(told.at(-1), { field: 'n31', message: 'is not a field' });
});
