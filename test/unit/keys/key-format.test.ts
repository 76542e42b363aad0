import assert from 'node:assert/strict';
import { test } from 'node:test';
import { assert as hold, constantFrom, nat, property } from 'fast-check';
import { createKeyFormat, holdsSecret, withholdSecrets } from '../../../src/keys/key-format.ts';

const format = createKeyFormat('gh');

test('secrets are sound, differ, and fit the pattern for scanners', () => {
  const secrets = Array.from({ length: 500 }, () => format.create());
  assert.equal(new Set(secrets).size, secrets.length);
  const pattern = new RegExp(format.pattern, 'g');
  for (const secret of secrets) {
    assert.equal(format.judge(secret), 'sound');
    assert.deepEqual(`key = "${secret}";`.match(pattern), [secret]);
    assert.match(secret, /^\w+$/, 'a double click selects all of it');
  }
});

test('every character of the random part is as likely as any other', () => {
  const counts = new Map<string, number>();
  const rounds = 4_000;
  for (let round = 0; round < rounds; round += 1) {
    for (const character of format.create().slice(3, 30)) {
      counts.set(character, (counts.get(character) ?? 0) + 1);
    }
  }
  const expected = (rounds * 27) / 62;
  assert.equal(counts.size, 62);
  for (const count of counts.values()) assert.ok(Math.abs(count - expected) < 6 * Math.sqrt(expected));
});

test('no single mistake and no two swapped characters go unnoticed', () => {
  const characters = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz'.split('');
  hold(
    property(nat({ max: 33 }), constantFrom(...characters), (at, character) => {
      const secret = format.create();
      const place = 3 + at;
      if (secret[place] === '_' || secret[place] === character) return;
      const wrong = secret.slice(0, place) + character + secret.slice(place + 1);
      assert.equal(format.judge(wrong), 'mistyped');
      const [one = '', other = ''] = secret.slice(place, place + 2);
      const swapped = secret.slice(0, place) + other + one + secret.slice(place + 2);
      assert.equal(format.judge(swapped), swapped === secret ? 'sound' : 'mistyped');
    }),
  );
});

for (const { title, secret, judged } of [
  { title: 'a secret that lost its end', secret: format.create().slice(0, -1), judged: 'mistyped' },
  { title: 'a secret with a blank behind it', secret: `${format.create()} `, judged: 'mistyped' },
  { title: 'a secret without its checksum', secret: format.create().slice(0, -7), judged: 'foreign' },
  { title: 'a key of somebody else that is as long', secret: `gh_${'x'.repeat(26)}`, judged: 'foreign' },
  {
    title: 'a key of somebody else with an underscore at its end',
    secret: `gh_${'x'.repeat(28)}_`,
    judged: 'foreign',
  },
  { title: 'a secret with a character too many', secret: `${format.create()}x`, judged: 'mistyped' },
  { title: 'the prefix alone', secret: 'gh_', judged: 'foreign' },
  { title: 'a key of somebody else that begins so', secret: `gh_live_${'x'.repeat(24)}`, judged: 'foreign' },
  { title: 'a longer key that begins so', secret: `gh_${'x'.repeat(40)}`, judged: 'foreign' },
  { title: 'the prefix in capitals', secret: 'GH_x', judged: 'foreign' },
  { title: 'a longer prefix', secret: 'ghp_x', judged: 'foreign' },
  { title: 'nothing', secret: '', judged: 'foreign' },
  { title: 'a secret of another prefix', secret: createKeyFormat('acme_live').create(), judged: 'foreign' },
]) {
  test(`${title} is ${judged}`, () => assert.equal(format.judge(secret), judged));
}

test('a secret is known and withheld whatever its prefix was when it was made', () => {
  for (const prefix of ['g', 'gh', 'acme_live', 'Z'.repeat(32)]) {
    const secret = createKeyFormat(prefix).create();
    for (const text of [secret, ` KEY=${secret};`, `my_${secret}x`, `${'_'.repeat(99)}${secret}`]) {
      assert.ok(holdsSecret(text), text);
    }
    assert.ok(!holdsSecret(secret.slice(0, -1)));
    assert.equal(withholdSecrets(`/v1/${secret}/a?${secret}`), `/v1/${prefix}_…/a?${prefix}_…`);
  }
  const secret = createKeyFormat(`a_${'b'.repeat(27)}`).create();
  assert.equal(withholdSecrets(`/${secret}/c`), '/a_…/c');
  assert.ok(holdsSecret(`x${secret}`));
  assert.ok(!holdsSecret(`gh_${'0'.repeat(27)}_000000`), 'the checksum is wrong');
});

test('what is shown of a secret leaves its strength', () => {
  assert.match(format.startOf(format.create()), /^gh_.{4}$/);
  assert.equal(format.startOf('short-foreign-secret'), '');
  assert.equal(format.startOf('gh_abcd'), '', 'one of others that begins as ours do');
  assert.equal(format.startOf('x'.repeat(23)), '', 'one character short of enough');
  assert.equal(format.startOf('x'.repeat(24)), 'xxxx');
});
