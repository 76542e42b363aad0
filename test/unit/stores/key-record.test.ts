import assert from 'node:assert/strict';
import { test } from 'node:test';
import { decodeAuditEntry, decodeKeyRecord, encodeKeyRecord } from '../../../src/stores/key-record.ts';
import { Unreadable } from '../../../src/stores/store-unavailable.ts';
import { aKey, aSecret } from '../../helpers/a-key.ts';

const secret = aSecret();

test('a key is read as it was written, at the ends of what dates can hold too', () => {
  const key = aKey({
    notBefore: -8.64e15,
    expiresAt: 8.64e15,
    revokedAt: 0,
    enabled: false,
    labels: { team: 'a' },
    scopes: ['read'],
    networks: ['10.0.0.0/8'],
    quotas: [{ name: 'q', limit: 1, per: undefined, timezone: undefined }],
    requests: [{ name: 'n', content: 'c' }],
    secrets: [secret],
  });
  assert.deepEqual(decodeKeyRecord(key.id, key.version, encodeKeyRecord(key)), key);
});

const spoilt: readonly (readonly [string, unknown])[] = [
  ['expiresAt', 8.64e15 + 1],
  ['notBefore', -8.64e15 - 1],
  ['revokedAt', '2026-01-01'],
  ['createdAt', 0.5],
  ['createdAt', null],
  ['enabled', 'no'],
  ['enabled', 0],
  ['plan', undefined],
  ['plan', 7],
  ['name', ['a']],
  ['scopes', 'read'],
  ['scopes', [1]],
  ['labels', ['a']],
  ['labels', { team: 1 }],
  ['networks', {}],
  ['quotas', [{ name: 'q', limit: '9' }]],
  ['quotas', [{ name: 'q', limit: 2 ** 53 }]],
  ['quotas', [{ name: 'q', limit: -5 }]],
  ['requests', [{ name: 'n' }]],
  ['secrets', [{ ...secret, number: 1.5 }]],
  ['secrets', [{ ...secret, digest: 7 }]],
  ['secrets', [{ ...secret, expiresAt: 9e15 }]],
  ['secrets', [null]],
  ['name', '\u001B[2J'],
  ['owner', 'acme\nroot'],
  ['plan', '\u009B31m'],
  ['labels', { team: '\u202Ex' }],
  ['labels', { '\u0007': 'x' }],
  ['quotas', [{ name: 'q\r\nX-Admin: 1', limit: 9 }]],
];
for (const [field, value] of spoilt) {
  test(`a key with ${field} ${JSON.stringify(value)} is not read as anything`, () => {
    const text = encodeKeyRecord(aKey({ secrets: [secret] }));
    const other = JSON.stringify({ ...(JSON.parse(text) as object), [field]: value });
    assert.throws(() => decodeKeyRecord('ada', 1, other), Unreadable);
  });
}

test('no key has an id that a header or a terminal would obey', () => {
  const text = encodeKeyRecord(aKey({ secrets: [secret] }));
  const read = () => decodeKeyRecord('ada\r\nX-Admin: 1\u009B2J', 1, text);
  assert.throws(read, Unreadable);
  assert.throws(read, / the record of key ada\uFFFD\uFFFDX-Admin: 1\uFFFD2J in the store cannot be read$/);
});

test('an entry of the audit log with words that a terminal would obey is not read', () => {
  const head = { id: '1-0', at: 0, keys: 1 };
  const note = { actor: 'cli:ada', action: 'update', keyId: 'ada', changes: { plan: ['free', 'paid'] } };
  assert.equal(decodeAuditEntry(head, JSON.stringify(note)).actor, 'cli:ada');
  const others = [
    { actor: 'cli:ada\ncli:root' },
    { action: '\u001B[2J' },
    { keyId: '\u009B2J' },
    { changes: { '\u001B[2J': ['free', 'paid'] } },
    { changes: { name: ['ada', '\u009B2J'] } },
    { changes: { labels: [{ '\u202Ex': 'x' }, {}] } },
  ];
  for (const other of others) {
    assert.throws(() => decodeAuditEntry(head, JSON.stringify({ ...note, ...other })), Unreadable);
  }
});
