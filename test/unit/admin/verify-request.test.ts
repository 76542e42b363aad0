import assert from 'node:assert/strict';
import { test, type TestContext } from 'node:test';
import { verifyRequest, type ImaginedRequest } from '../../../src/admin/verify-request.ts';
import { loadConfig } from '../../../src/config/load-config.ts';
import type { KeyBook } from '../../../src/keys/key-book.ts';
import { viewKey } from '../../../src/keys/key-view.ts';
import { aKey } from '../../helpers/a-key.ts';
import { writeTemporary } from '../../helpers/config-file.ts';

const yaml = `
upstreams: { a: { targets: ["http://127.0.0.1:9"] } }
routes: [{ path: /v1/name, methods: [GET], upstream: a }]
`;

const read = (t: TestContext, text = yaml) => loadConfig(writeTemporary(t, text), {});

test('a plan that has gone refuses what nothing else has refused before, as in the journey', async (t) => {
  const config = read(t, `errors: { plan_unknown: { status: 402, message: gone } }${yaml}`);
  const gone = 'plan_unknown';
  const verdict = { valid: false, reason: gone, refusal: gone, key: null, secret: 1 } as const;
  const saidOf = (path?: string) =>
    verifyRequest('secret', { path }, { book: { verify: async () => verdict }, config });
  const refusalOn = async (path?: string): Promise<unknown> => (await saidOf(path)).refusal;
  assert.deepEqual((await saidOf()).answer, { status: 402, body: '{"error":"gone"}' });
  assert.equal(await refusalOn(), 'plan_unknown');
  assert.equal(await refusalOn('/v1/name'), 'plan_unknown');
  assert.equal(await refusalOn('/v1/nowhere'), 'route_unknown');
  assert.equal(await refusalOn('//'), 'path_malformed');
});

test('a key that is in order goes where the journey would let it, and is told of all the same', async (t) => {
  const key = viewKey({ record: aKey({ scopes: ['/v1/name'] }), usedAt: new Map() }, 0);
  const good = { valid: true, reason: 'good', refusal: null, key, secret: 1 } as const;
  const book = { verify: async () => good };
  const plain = read(t);
  const telling = read(t, `usage: { path: /v1/usage }${yaml.replace('/v1/name', '/v1/*')}`);
  const saidOf = (request: ImaginedRequest, config = plain) =>
    verifyRequest('secret', request, { book, config });
  for (const [config, request] of [
    [plain, {}],
    [plain, { method: 'POST' }],
    [plain, { path: '/v1/name' }],
    [telling, { path: '/v1/name?x=1' }],
    [telling, { path: '/v1/usage', method: 'HEAD' }],
  ] as const) {
    assert.deepEqual(await saidOf(request, config), { ...good, answer: null });
  }
  for (const [config, request, refusal, status] of [
    [plain, { path: '/v1/name', method: 'POST' }, 'method_not_allowed', 405],
    [telling, { path: '/v1/names' }, 'key_not_allowed', 403],
    [telling, { path: '/v1/usage', method: 'POST' }, 'method_not_allowed', 405],
  ] as const) {
    const { answer, ...verdict } = await saidOf(request, config);
    assert.deepEqual(verdict, { ...good, valid: false, refusal });
    assert.equal(answer?.status, status);
  }
});

test('a secret and an address are taken as requests bring them', async (t) => {
  const readWith = (header: string) => read(t, `auth: { header: ${header} }${yaml}`);
  const [plain, schemed, several] = [
    read(t),
    readWith('Authorization'),
    readWith('[X-API-Key, authorization]'),
  ];
  const verdict = { valid: true, reason: 'good', refusal: null, key: null, secret: 1 } as const;
  const askedOf = async (secret: string, from?: string, config = plain): Promise<unknown> => {
    let asked: unknown;
    const verify: KeyBook['verify'] = async (...request) => {
      asked = request;
      return verdict;
    };
    await verifyRequest(secret, { from }, { book: { verify }, config });
    return asked;
  };
  assert.deepEqual(await askedOf(' a b\t'), ['a b', undefined]);
  assert.deepEqual(await askedOf('s\r\n'), ['s', undefined]);
  // A header keeps these, and no key is found: they come with what is copied from a page or a file.
  for (const blank of ['\u00A0', '\u2003', '\uFEFF']) {
    assert.deepEqual(await askedOf(`${blank}s${blank}`), [`${blank}s${blank}`, undefined]);
  }
  assert.deepEqual(await askedOf('s', '::ffff:192.0.2.1'), ['s', '192.0.2.1']);
  assert.deepEqual(await askedOf('s', '0:0:0:0:0:FFFF:c000:201'), ['s', '192.0.2.1']);
  assert.deepEqual(await askedOf('s', 'fe80::1%eth0'), ['s', 'fe80::1%eth0']);
  assert.deepEqual(await askedOf('Bearer s'), ['Bearer s', undefined]);
  assert.deepEqual(await askedOf('s', undefined, schemed), ['s', undefined]);
  assert.deepEqual(await askedOf(' bearer s\n', undefined, schemed), ['s', undefined]);
  assert.deepEqual(await askedOf('Bearer ', undefined, schemed), ['', undefined]);
  assert.deepEqual(await askedOf('Bearer s', undefined, several), ['s', undefined]);
});

test('a method that no HTTP has is refused as by the door, whatever the key', async (t) => {
  const config = read(t);
  for (const refusal of [null, 'key_invalid'] as const) {
    const verdict = { valid: refusal === null, reason: 'good', refusal, key: null, secret: 1 } as const;
    const book = { verify: async () => verdict };
    const refusalOf = async (method: string): Promise<unknown> =>
      (await verifyRequest('secret', { path: '/v1/name', method }, { book, config })).refusal;
    assert.equal(await refusalOf('FOO'), 'request_malformed');
    assert.equal(await refusalOf('get'), refusal);
    assert.equal(await refusalOf('PROPFIND'), refusal ?? 'method_not_allowed');
  }
});
