import assert from 'node:assert/strict';
import { test } from 'node:test';
import addFormats from 'ajv-formats';
import { Ajv2020 } from 'ajv/dist/2020.js';
import * as fc from 'fast-check';
import { schemas } from '../../../src/admin/schemas.ts';
import { createKeyFormat } from '../../../src/keys/key-format.ts';
import { KeyProblem } from '../../../src/keys/key-problem.ts';
import { viewKey } from '../../../src/keys/key-view.ts';
import { readKeyFields } from '../../../src/keys/read-key-fields.ts';
import { aKey } from '../../helpers/a-key.ts';
import { aPlan, aQuota } from '../../helpers/a-plan.ts';

const ajv = new Ajv2020({ strict: true, strictTypes: false });
addFormats.default(ajv);
ajv.addVocabulary(['components']);
ajv.addSchema({ components: { schemas } }, 'openapi');
const [fitsChange, fitsKey] = ['KeyChange', 'Key'].map((name) =>
  ajv.compile({ $ref: `openapi#/components/schemas/${name}` }),
);
const rules = {
  format: createKeyFormat('gh'),
  plans: new Map([
    ['free', aPlan({ quotas: [aQuota(100)] })],
    ['paid', aPlan()],
  ]),
  routes: [{ name: 'names', path: '/v1/name' }],
  staticKeys: [],
};

/** As the unit 'binary', for which a table of them all is made each time. */
const anyCharacter = fc
  .oneof(fc.integer({ min: 0, max: 0xd7ff }), fc.integer({ min: 0xe000, max: 0x10ffff }))
  .map((point) => String.fromCodePoint(point));
const word = fc.oneof(
  fc.string({ maxLength: 250 }),
  fc.string({ maxLength: 250, unit: anyCharacter }),
  fc.constantFrom('free', 'names', '10.0.0.0/8', '2027-01-01', 'm'),
);
const anything = fc.oneof(
  word,
  fc.constant(null),
  fc.boolean(),
  fc.integer(),
  fc.array(word, { maxLength: 3 }),
);
const quota = fc.record(
  {
    name: fc.oneof(fc.constantFrom('m', 'daily', 'M'), anything),
    limit: fc.oneof(fc.integer({ min: -1, max: 5 }), anything),
    per: fc.oneof(fc.constantFrom('day', 'fortnight'), anything),
    timezone: fc.oneof(fc.constantFrom('UTC', '+01:00'), anything),
    more: anything,
  },
  { requiredKeys: [] },
);
/** One field at a time: of ten fields one would nearly always be wrong. */
const fields = fc.oneof(
  ...Object.entries({
    name: anything,
    owner: anything,
    plan: fc.oneof(fc.constantFrom('free', 'gold'), anything),
    quotas: fc.oneof(fc.array(quota, { maxLength: 2 }), anything),
    scopes: fc.oneof(fc.array(fc.constant('names'), { maxLength: 2 }), anything),
    labels: fc.oneof(
      fc.dictionary(word, anything, { maxKeys: 3 }),
      fc.dictionary(fc.stringMatching(/^[a-z]{1,6}$/), word),
      anything,
    ),
    networks: fc.oneof(fc.array(fc.ipV4(), { maxLength: 66 }), anything),
    notBefore: anything,
    expiresAt: anything,
    enabled: anything,
    more: anything,
  }).map(([name, value]) => fc.record({ [name]: value })),
);

test('what the code takes of a key, the document takes too', () => {
  let taken = 0;
  fc.assert(
    fc.property(fields, (written) => {
      if (!isTaken(written)) return;
      taken += 1;
      assert.ok(fitsChange?.(written), `${JSON.stringify(written)}: ${JSON.stringify(fitsChange?.errors)}`);
    }),
    { numRuns: 5000 },
  );
  assert.ok(taken > 500, `only ${taken} were taken at all`);
});

for (const [name, written] of Object.entries({
  'a name of 200 characters that take two units each': { name: '😀'.repeat(200) },
  'an owner of 200 characters of which one does': { owner: `${'x'.repeat(199)}😀` },
  'a label of 200 characters that take two units each': { labels: { a: '😀'.repeat(200) } },
})) {
  test(`both take ${name}`, () => assert.deepEqual([isTaken(written), fitsChange?.(written)], [true, true]));
}

for (const [name, written] of Object.entries({
  'a name that is too long': { name: 'x'.repeat(201) },
  'a name that is too long by a character of two units': { name: '😀'.repeat(201) },
  'a label that is too long': { labels: { a: `${'x'.repeat(200)}😀` } },
  'a number for a name': { name: 1 },
  'no plan': { plan: null },
  'neither on nor off': { enabled: null },
  'too many scopes': { scopes: Array.from({ length: 65 }, () => 'names') },
  'too many labels': { labels: Object.fromEntries(Array.from({ length: 33 }, (_, at) => [`l${at}`, ''])) },
  'a label with a space': { labels: { 'a b': '' } },
  'a label that is no text': { labels: { a: 1 } },
  'a quota of nothing': { quotas: [{ name: 'm', limit: 0 }] },
  'a quota without a limit': { quotas: [{ name: 'm' }] },
  'a quota with a name in capitals': { quotas: [{ name: 'M', limit: 1 }] },
  'a quota of no period': { quotas: [{ name: 'm', limit: 1, per: 'fortnight' }] },
  'a quota with a field more': { quotas: [{ name: 'm', limit: 1, burst: 1 }] },
  'an unknown field': { secrets: [] },
})) {
  test(`both refuse ${name}`, () =>
    assert.deepEqual([isTaken(written), fitsChange?.(written)], [false, false]));
}

test('whatever a key is, its view is as the document says', () => {
  for (const key of [
    aKey(),
    aKey({ notBefore: 1, expiresAt: 2, revokedAt: 3, enabled: false, secrets: [] }),
    aKey({ quotas: [{ name: 'm', limit: 1, per: undefined, timezone: undefined }], labels: { a: 'b' } }),
    aKey({ requests: [{ name: 'n', content: 'c' }] }),
  ]) {
    const view: unknown = JSON.parse(JSON.stringify(viewKey({ record: key, usedAt: new Map([[1, 5]]) }, 10)));
    assert.ok(fitsKey?.(view), JSON.stringify(fitsKey?.errors));
  }
});

function isTaken(written: Readonly<Record<string, unknown>>): boolean {
  try {
    readKeyFields(written, rules);
    return true;
  } catch (error) {
    assert.ok(error instanceof KeyProblem);
    return false;
  }
}
