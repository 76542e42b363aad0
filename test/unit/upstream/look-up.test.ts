import assert from 'node:assert/strict';
import type { LookupAddress } from 'node:dns';
import { describe, it } from 'node:test';
import { createLookUp, patienceMs, slowMs, type Ask } from '../../../src/upstream/look-up.ts';
import { settle } from '../../helpers/turnable-clock.ts';

const one: readonly LookupAddress[] = [{ address: '192.0.2.1', family: 4 }];
const other: readonly LookupAddress[] = [
  { address: '2001:db8::2', family: 6 },
  { address: '192.0.2.2', family: 4 },
];

/** A look-up whose system answers when it is told to. */
function scene() {
  const asked: { readonly host: string; readonly tell: Parameters<Ask>[1] }[] = [];
  const lookUp = createLookUp((host, tell) => asked.push({ host, tell }));
  return {
    asked,
    lookUp,
    find: (host: string): Promise<LookupAddress[]> =>
      new Promise((resolve, reject) => {
        lookUp(host, { all: true }, (error, found) =>
          error === null ? resolve(found as LookupAddress[]) : reject(error),
        );
      }),
    findFirst: (host: string): Promise<unknown> =>
      new Promise((resolve, reject) => {
        lookUp(host, {}, (error, address, family) =>
          error === null ? resolve([address, family]) : reject(error),
        );
      }),
    answer: (addresses: readonly LookupAddress[]) => asked.at(-1)?.tell(null, addresses),
    fail: (code: string) => asked.at(-1)?.tell(Object.assign(new Error(code), { code }), []),
  };
}

describe('a look-up', () => {
  it('asks once for all who wait for a name, and anew for the next', async () => {
    const { asked, find, findFirst, answer } = scene();
    const waiting = [find('a.test'), find('a.test'), findFirst('a.test')];
    assert.equal(asked.length, 1);
    answer(other);
    assert.deepEqual(await Promise.all(waiting), [other, other, ['2001:db8::2', 6]]);
    const next = find('a.test');
    answer(one);
    assert.deepEqual([await next, asked.length], [one, 2]);
  });

  it('lets no name wait for another', async () => {
    const { asked, find, answer } = scene();
    void find('silent.test');
    const found = find('a.test');
    assert.deepEqual(
      asked.map(({ host }) => host),
      ['silent.test', 'a.test'],
    );
    answer(one);
    assert.deepEqual(await found, one);
  });

  it('asks for one name at a time of those that were slow, and for all others at once', async (t) => {
    let now = 0;
    t.mock.method(performance, 'now', () => now);
    const { asked, find, answer, fail } = scene();
    const hosts = () => asked.map(({ host }) => host).join(' ');
    const late = async (...names: readonly string[]): Promise<void> => {
      const found = names.map((name) => find(name).catch(() => []));
      now += slowMs;
      for (const { tell } of asked.splice(0)) tell(Object.assign(new Error(), { code: 'EAI_AGAIN' }), []);
      await Promise.all(found);
    };
    await late('a.test', 'b.test');
    for (const name of ['a.test', 'b.test']) void find(name).catch(() => []);
    const quick = find('c.test');
    assert.equal(hosts(), 'a.test c.test');
    answer(one);
    assert.deepEqual(await quick, one);
    now += slowMs;
    asked.shift()?.tell(null, one);
    await settle();
    assert.equal(hosts(), 'c.test b.test');
    // It was quick this time.
    fail('ENOTFOUND');
    await settle();
    for (const name of ['a.test', 'b.test', 'b.test']) void find(name).catch(() => []);
    assert.equal(hosts(), 'c.test b.test a.test b.test');
  });

  it('gives the last addresses while the resolver is silent, and asks no second time', async () => {
    const { asked, find, answer } = scene();
    const first = find('a.test');
    answer(one);
    await first;
    const startedAt = performance.now();
    assert.deepEqual(await Promise.all([find('a.test'), find('a.test')]), [one, one]);
    assert.ok(performance.now() - startedAt >= patienceMs - 5);
    assert.deepEqual(await find('a.test'), one);
    assert.equal(asked.length, 2);
    answer(other);
    const fresh = find('a.test');
    answer(other);
    assert.deepEqual([await fresh, asked.length], [other, 3]);
  });

  it('asks anew for a name that was answered in time, however long ago', async () => {
    const { asked, find, answer } = scene();
    for (const host of ['silent.test', 'a.test']) {
      const first = find(host);
      answer(one);
      await first;
    }
    await find('silent.test'); // until the resolver has been silent for as long as is waited
    void find('a.test');
    assert.equal(asked.at(-1)?.host, 'a.test');
  });

  it('tells who was given the last addresses nothing more when the resolver answers after all', async () => {
    const { lookUp, find, answer } = scene();
    const first = find('a.test');
    answer(one);
    await first;
    const told: unknown[] = [];
    await new Promise<void>((resolve) => {
      lookUp('a.test', { all: true }, (_error, found) => {
        told.push(found);
        resolve();
      });
    });
    answer(other);
    assert.deepEqual(told, [one]);
  });

  it('gives the last addresses when the resolver is away, and none when it says that there are none', async () => {
    const { find, answer, fail } = scene();
    const first = find('a.test');
    answer(one);
    await first;
    for (const code of ['EAI_AGAIN', 'EAI_FAIL', 'EMFILE']) {
      const away = find('a.test');
      fail(code);
      assert.deepEqual(await away, one);
    }
    const gone = find('a.test');
    fail('ENOTFOUND');
    await assert.rejects(gone, { code: 'ENOTFOUND' });
    const still = find('a.test');
    fail('EAI_AGAIN');
    await assert.rejects(still, { code: 'EAI_AGAIN' });
  });

  it('says that a name without addresses is not found', async () => {
    const { find, answer } = scene();
    const found = find('a.test');
    answer([]);
    await assert.rejects(found, { code: 'ENOTFOUND' });
  });
});
