import assert from 'node:assert/strict';
import { test } from 'node:test';
import { notNetwork } from '../../../src/config/addresses.ts';
import { notInstant } from '../../../src/config/instants.ts';
import { periodUnits } from '../../../src/config/plan-rule.ts';
import { createKeyFormat } from '../../../src/keys/key-format.ts';
import { readNewKey } from '../../../src/keys/new-key.ts';
import { readKeyFields } from '../../../src/keys/read-key-fields.ts';
import { aPlan } from '../../helpers/a-plan.ts';

const format = createKeyFormat('gh');
const rules = {
  format,
  plans: new Map([['free', aPlan()]]),
  routes: [
    { name: 'names', path: '/v1/name' },
    { name: '/v1/voice/*', path: '/v1/voice/*' },
  ],
  staticKeys: [],
};

const notZone = 'is not a time zone of a period, write UTC or a name such as Europe/Berlin';
const noLabel =
  'labels has a name that is none, use up to 63 letters, digits, ".", "_", "/" and "-", a letter or digit first';
const refused: readonly (readonly [string, unknown, string])[] = [
  ['scopes', ['/v1/*/x'], 'scopes[0] may have "*" only alone, as its last segment'],
  ['scopes', ['/v1/:a/:a'], 'scopes[0] uses one :name twice'],
  ['scopes', ['names', 7], 'scopes[1] is not text'],
  ['scopes', ['names', 'names'], 'scopes has an entry twice'],
  ['scopes', 'names', 'scopes is not a list'],
  ['networks', ['10.0.0.1/8'], `networks[0] ${notNetwork}`],
  ['networks', [7], `networks[0] ${notNetwork}`],
  ['notBefore', '1970-01-01', 'notBefore must be after 1970-01-01'],
  ['notBefore', '1969-12-31', 'notBefore must be after 1970-01-01'],
  ['notBefore', 86_400_000, `notBefore ${notInstant}`],
  ['labels', ['a'], 'labels is not a mapping of names to texts'],
  ['labels', { 'a b': 'x' }, noLabel],
  ['labels', { _a: 'x' }, noLabel],
  ['labels', { ['a'.repeat(64)]: 'x' }, noLabel],
  ['labels', { a: { toString: 1 } }, 'labels.a is not text'],
  ['labels', { a: 'x\u202e' }, 'labels.a holds characters that cannot be seen'],
  ['labels', { a: 'x'.repeat(201) }, 'labels.a is longer than 200 characters'],
  ['labels', { 'maybe-a-foreign-secret': 1 }, 'labels has a value that is not text'],
  ['quotas', ['monthly'], 'quotas[0] is not a mapping of name, limit, per and timezone'],
  [
    'quotas',
    [{ name: 'q', limit: 2 ** 53 }],
    'quotas[0].limit is not a whole number from 1 to 9007199254740991',
  ],
  ['quotas', [{ name: 'q', limit: 1, timezone: 'UTC' }], `quotas[0].timezone ${notZone}`],
  ['quotas', [{ name: 'q', limit: 1, per: 'day', timezone: '+01:00' }], `quotas[0].timezone ${notZone}`],
  ['quotas', [{ limit: 1 }], 'quotas[0].name is not text'],
  [
    'quotas',
    [{ name: 'q', limit: 1, period: 'day' }],
    'quotas[0] has a field other than name, limit, per, timezone',
  ],
  [
    'quotas',
    [{ name: 'q', limit: 1, per: 'decade' }],
    `quotas[0].per is not a period, choose from ${periodUnits.join(', ')}`,
  ],
  ['plan', 7, 'plan is not text'],
  ['plan', null, 'plan is not text'],
  ['enabled', null, 'enabled is neither true nor false'],
  ['enabled', 'yes', 'enabled is neither true nor false'],
];
for (const [field, value, says] of refused) {
  test(`${field} ${JSON.stringify(value)} is refused in so many words`, () => {
    assert.throws(() => readKeyFields({ [field]: value }, rules), {
      name: 'KeyProblem',
      code: 'invalid',
      message: says,
    });
  });
}

test('each list has room for so many entries, and not for one more', () => {
  for (const { field, most, written } of [
    { field: 'networks', most: 64, written: (count: number) => numbered(count, (at) => `10.0.0.${at}`) },
    {
      field: 'quotas',
      most: 16,
      written: (count: number) => numbered(count, (at) => ({ name: `q${at}`, limit: 1, per: 'day' })),
    },
    {
      field: 'labels',
      most: 32,
      written: (count: number) => Object.fromEntries(numbered(count, (at) => [`l${at}`, 'x'])),
    },
  ]) {
    assert.equal(Object.keys(readKeyFields({ [field]: written(most) }, rules)).length, 1);
    const more = new RegExp(`^KeyProblem: ${field} has more than ${most} `);
    assert.throws(() => readKeyFields({ [field]: written(most + 1) }, rules), more);
  }
});

function numbered<T>(count: number, write: (at: number) => T): readonly T[] {
  return Array.from({ length: count }, (_, at) => write(at));
}

test('what is in order is taken, an instant of 1970 among it', () => {
  const written = {
    name: ' build ',
    scopes: ['names', '/v1/:kind', '/v1/*'],
    networks: ['10.0.0.0/8', '::1'],
    notBefore: '1970-01-01T00:00:00.001Z',
    quotas: [{ name: 'q', limit: 1, per: 'day', timezone: 'Europe/Berlin' }],
    labels: { 'team/a': ' x ' },
    enabled: false,
  };
  assert.deepEqual(readKeyFields({ ...written, plan: undefined, owner: null }, rules), {
    ...written,
    name: 'build',
    owner: '',
    notBefore: 1,
  });
});

test('what every object has is no field, and all that is wrong with a new key is told at once', () => {
  assert.throws(() => readKeyFields({ constructor: 'x' }, rules), /constructor/);
  assert.throws(() => readNewKey({ id: 'no id', owner: 7 }, rules), /id is not an id.*owner is not text/s);
  assert.throws(() => readNewKey({ id: '_x' }, rules), /id is not an id, .* a letter or digit first$/);
});

const planUnder = (...names: readonly string[]) =>
  readNewKey({}, { ...rules, plans: new Map(names.map((name) => [name, aPlan()])) }).fields.plan;

test('a new key needs no plan where there is only one', () => {
  assert.equal(planUnder('free'), 'free');
  assert.throws(() => planUnder('free', 'paid'), /plan is needed, choose from free, paid/);
  assert.throws(() => planUnder(), /plan cannot be: there are no plans/);
});

test('a secret is no id, name, owner, scope or label, though a column was mistaken for another', () => {
  const secret = format.create();
  for (const field of [
    { id: secret },
    { name: `KEY=${secret}` },
    { owner: ` ${secret}` },
    { labels: { a: secret } },
    { labels: { [secret]: 1 } },
    { scopes: [`/v1/${secret}`] },
  ]) {
    assert.throws(
      () => readNewKey(field, rules),
      ({ message }) => !message.includes(secret) && /holds a secret of a key/.test(message),
    );
  }
});

test('a label is not named where its name may be a secret', () => {
  const labels = { team: 7 };
  assert.throws(() => readKeyFields({ labels }, rules), /labels\.team is not text/);
  assert.throws(() => readKeyFields({ labels }, rules, { mayName: false }), /labels has a value that is not/);
});
