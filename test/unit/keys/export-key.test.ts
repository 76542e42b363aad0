import assert from 'node:assert/strict';
import { Readable } from 'node:stream';
import { test } from 'node:test';
import { exportKey } from '../../../src/keys/export-key.ts';
import { readCandidate } from '../../../src/keys/imports/read-candidate.ts';
import { readImport } from '../../../src/keys/imports/read-import.ts';
import { createKeyFormat } from '../../../src/keys/key-format.ts';
import { labelsMax, lineLengthMax, networksMax, quotasMax, scopesMax } from '../../../src/keys/key-limits.ts';
import { aKey, aSecret, digestOf } from '../../helpers/a-key.ts';
import { aPlan, aQuota } from '../../helpers/a-plan.ts';

const rules = {
  format: createKeyFormat('gh'),
  plans: new Map([['free', aPlan({ quotas: [aQuota(9, 'month')] })]]),
  routes: [],
  staticKeys: [
    { id: 'demo', plan: 'free', owner: '', digest: digestOf('k-demo'), enabled: true, expiresAt: undefined },
  ],
};

const readLine = (line: Readonly<Record<string, unknown>>) =>
  readCandidate(1, line, { rules, now: () => 1, plan: undefined });

test('a quota whose plan has lost its period is exported with the one by which it counts', () => {
  const own = { limit: 5, per: undefined, timezone: undefined };
  const quotas = [
    { ...own, name: 'month' },
    { ...own, name: 'lost' },
    { ...own, name: 'daily', per: 'day' },
  ];
  const { line } = exportKey(aKey({ plan: 'free', quotas }), { ...rules, now: 1 }) ?? assert.fail();
  assert.deepEqual(line['quotas'], [quotas[0], { ...quotas[1], per: 'lifetime' }, quotas[2]]);
  assert.equal(readLine(line).kind, 'whole');
});

test('of a key whose plan is gone the quotas are exported as they are', () => {
  const quotas = [{ name: 'lost', limit: 5, per: undefined, timezone: undefined }];
  const exported = exportKey(aKey({ plan: 'gone', quotas }), { ...rules, now: 1 });
  assert.deepEqual(exported?.line['quotas'], quotas);
});

test('what limits a key in time is exported with it, and one that has ended is not', () => {
  const [older, newer] = [aSecret({ expiresAt: 2 }), aSecret({ number: 2 })];
  const key = aKey({ secrets: [older, newer], notBefore: 1000, expiresAt: 2000, enabled: false });
  const { line, leavesSecrets } = exportKey(key, { ...rules, now: 1 }) ?? assert.fail();
  assert.equal(line['hash'], `sha256:${newer.digest}`);
  assert.deepEqual(
    [line['notBefore'], line['expiresAt'], line['enabled']],
    ['1970-01-01T00:00:01.000Z', '1970-01-01T00:00:02.000Z', false],
  );
  assert.ok(leavesSecrets);
  const plain = exportKey({ ...aKey(), secrets: [newer] }, { ...rules, now: 1 }) ?? assert.fail();
  const { notBefore, expiresAt, enabled } = plain.line;
  assert.deepEqual([notBefore, expiresAt, enabled], [null, null, true]);
  assert.ok(!plain.leavesSecrets);
  assert.equal(exportKey({ ...key, revokedAt: 1 }, { ...rules, now: 1 }), undefined);
  assert.equal(exportKey({ ...key, secrets: [older] }, { ...rules, now: 3 }), undefined);
});

const ofTheFile = digestOf('k-demo');
const noHash = 'hash must be sha256: and 64 hexadecimal digits';
for (const [line, message] of [
  ...['a'.repeat(65), `x${'a'.repeat(64)}`, 'sha256:a', 7].map((hash) => [{ hash }, noHash] as const),
  [{ hash: `sha256:${digestOf('').toUpperCase()}` }, 'hash is that of an empty text'],
  [{ hash: null, secret: 'k-demo' }, 'secret is that of a key in the configuration file'],
  [{ hash: ofTheFile, secret: null }, 'hash is that of a key in the configuration file'],
  [{ secret: '${SECRET}' }, 'secret looks like a variable that was not replaced'],
  [{}, 'has neither a secret nor a hash'],
] as const) {
  test(`a line with the secret ${JSON.stringify(line)} is refused`, () =>
    assert.throws(() => readLine(line), { message }));
}

test('a line that names no plan gets the only one that there is', () => {
  const line = readLine({ secret: 'a-foreign-secret' });
  assert.equal(line.kind === 'whole' && line.record.plan, 'free');
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
