import assert from 'node:assert/strict';
import { PassThrough } from 'node:stream';
import { test } from 'node:test';
import { printAudit, printKey, printKeys } from '../../../src/commands/keys/print-keys.ts';
import type { AuditView } from '../../../src/keys/key-pages.ts';
import { viewKey } from '../../../src/keys/key-view.ts';
import { aKey, aSecret } from '../../helpers/a-key.ts';

const at = (day: number): number => Date.UTC(2026, 0, day, 12, 30, 59);
const plain = viewKey(
  { record: aKey({ id: 'k1', plan: 'free', createdAt: at(1), secrets: [made(1)] }), usedAt: new Map() },
  at(5),
);
const full = viewKey(
  {
    record: aKey({
      id: 'key_02',
      plan: 'paid',
      name: 'the build server of all teams',
      owner: 'acme',
      quotas: [
        { name: 'daily', limit: 5, per: 'day', timezone: 'Europe/Berlin' },
        { name: 'all', limit: 9, per: undefined, timezone: undefined },
      ],
      scopes: ['/v1/*', 'names'],
      networks: ['10.0.0.0/8'],
      labels: { team: 'x', a: 'b' },
      notBefore: at(2),
      expiresAt: at(30),
      revokedAt: at(4),
      createdAt: at(1),
      version: 7,
      secrets: [{ ...made(1), expiresAt: at(4) }, { ...made(2), expiresAt: at(6) }, made(3)],
    }),
    usedAt: new Map([[2, at(3)]]),
  },
  at(5),
);

function made(number: number) {
  return {
    ...aSecret({ digest: String(number).repeat(64) }),
    number,
    start: `gh_${number}`,
    createdAt: at(1),
  };
}

const stream = new PassThrough();

test('people are shown keys as a table, in which a long name is cut', () => {
  assert.equal(
    printKeys([plain, full], stream),
    `\
ID      NAME                      OWNER  PLAN  STATE    SECRET             LAST USED          EXPIRES
k1                                       free  good     gh_1…              never              never
key_02  the build server of all…  acme   paid  revoked  gh_1… gh_2… gh_3…  2026-01-03 12:30Z  2026-01-30 12:30Z
`,
  );
});

test('people are shown all that is known of a key, and nothing of what it has not', () => {
  assert.equal(
    printKey(plain, stream),
    `\
key         k1
state       good
plan        free
own quotas  none
scopes      every route
networks    from anywhere
expires     never
created     2026-01-01 12:30Z
last used   never
version     1

secret 1  gh_1…  made 2026-01-01 12:30Z  last used never
`,
  );
  assert.equal(
    printKey(full, stream),
    `\
key         key_02
name        the build server of all teams
owner       acme
state       revoked
plan        paid
own quotas  daily=5/day@Europe/Berlin, all=9
scopes      /v1/*, names
networks    10.0.0.0/8
labels      team=x, a=b
valid from  2026-01-02 12:30Z
expires     2026-01-30 12:30Z
revoked     2026-01-04 12:30Z
created     2026-01-01 12:30Z
last used   2026-01-03 12:30Z
version     7

secret 1  gh_1…  made 2026-01-01 12:30Z  last used never              expired 2026-01-04 12:30Z
secret 2  gh_2…  made 2026-01-01 12:30Z  last used 2026-01-03 12:30Z
secret 3  gh_3…  made 2026-01-01 12:30Z  last used never
`,
  );
});

test('an earlier secret works until its end, or until its key is revoked', () => {
  const secrets = [{ ...made(1), expiresAt: at(6) }, made(2)];
  const shown = (over: object): string =>
    printKey(viewKey({ record: aKey({ secrets, ...over }), usedAt: new Map() }, at(5)), stream);
  assert.match(shown({}), /^secret 1 .* works until 2026-01-06 12:30Z$/m);
  assert.doesNotMatch(shown({ revokedAt: at(4) }), /works until/);
});

test('people are shown of a change what was before it and after, and of a new secret nothing', () => {
  const noon = new Date(at(1)).toISOString();
  const entry = { id: '1', at: noon, actor: 'cli:ada', keys: 1, keyId: 'k1', changes: {} };
  const changes = { plan: ['free', 'paid'], expiresAt: [null, '2027'], labels: [{ a: 'b' }, undefined] };
  const entries = [
    { ...entry, action: 'update', changes },
    { ...entry, action: 'rotate', changes },
    { ...entry, action: 'create', changes },
    { ...entry, action: 'import', keyId: null, keys: 2 },
    { ...entry, action: 'set_usage', changes: { month: [3, 0], day: [null, 0] } },
  ] as unknown as readonly AuditView[];
  assert.equal(
    printAudit(entries, stream),
    `\
WHEN               WHO      ACTION     KEY     WHAT CHANGED
2026-01-01 12:30Z  cli:ada  update     k1      plan: "free" → "paid", expiresAt: nothing → "2027", labels: {"a":"b"} → nothing
2026-01-01 12:30Z  cli:ada  rotate     k1
2026-01-01 12:30Z  cli:ada  create     k1
2026-01-01 12:30Z  cli:ada  import     2 keys
2026-01-01 12:30Z  cli:ada  set_usage  k1      month: 3 → 0, day: unreadable → 0
`,
  );
});

test('on a terminal the heading of a table is dim and the id of a key bold, and nothing else is', () => {
  const terminal = Object.assign(new PassThrough(), { isTTY: true, getColorDepth: () => 8 });
  for (const [print, style] of [
    [(to: PassThrough) => printKeys([plain, full], to), '\u001B[2m'],
    [(to: PassThrough) => printKey(full, to), '\u001B[1m'],
  ] as const) {
    const [first = '', ...rest] = print(stream).split('\n');
    assert.deepEqual(print(terminal).split('\n'), [`${style}${first}\u001B[22m`, ...rest]);
  }
});
