import assert from 'node:assert/strict';
import { EventEmitter } from 'node:events';
import { test } from 'node:test';
import { setImmediate } from 'node:timers/promises';
import { Redis } from 'ioredis';
import { parseStoreAddress } from '../../../src/config/parse-store-address.ts';
import {
  createClient,
  firstConnection,
  listenOn,
  type Client,
} from '../../../src/stores/redis/client/client.ts';
import { createRedisKeys } from '../../../src/stores/redis/keys.ts';
import { createRedisLedger } from '../../../src/stores/redis/ledger.ts';
import { createLink, type Link } from '../../../src/stores/redis/link.ts';
import { callOf } from '../../../src/stores/redis/scripts.ts';
import { aKey, aNote } from '../../helpers/a-key.ts';
import { freePort } from '../../helpers/free-port.ts';
import { aCounter, aDraw } from '../../helpers/ledger-orders.ts';
import { replyError } from '../../helpers/reply-error.ts';

/** A client as far as a link knows one, which is connected as long as the test says so. */
function standIn(over: object = {}): Client {
  const client = { status: 'ready', isCluster: false, stream: { writableCorked: 1 }, ...over };
  return Object.assign(new EventEmitter(), client) as unknown as Client;
}

const well = async (): Promise<string> => 'well';

/** How many timers run. */
function timers(): number {
  return process.getActiveResourcesInfo().filter((kind) => kind === 'Timeout').length;
}

const script = { source: 'return 1', sha: 'abc' };
const shared = { ...script, many: { source: 'return 2', sha: 'def' } };

test('a script that Redis does not know is sent whole, unless nobody waits for it any more', async () => {
  const sent: string[] = [];
  let answer = 'NOSCRIPT No matching script.';
  const client = standIn({
    evalsha: async (sha: string) => {
      sent.push(sha);
      throw replyError(answer);
    },
    eval: async (source: string) => sent.push(source),
  });
  const call = callOf(script, ['key'], []);
  await call(client, () => true);
  assert.deepEqual(sent.splice(0), ['abc', 'return 1']);
  await assert.rejects(
    call(client, () => false),
    /NOSCRIPT/,
  );
  // The client of a cluster goes where it is sent by itself.
  answer = 'MOVED 7 10.0.0.1:1';
  await assert.rejects(
    call(client, () => true),
    /MOVED/,
  );
  assert.deepEqual(sent, ['abc', 'abc']);
});

test('a connection that fails one call after the other is not asked for a moment, but by those who must know', async () => {
  const link = createLink(standIn(), { deadlineMs: 1000, where: 'here' });
  let asked = 0;
  const fail = async (): Promise<never> => {
    asked += 1;
    throw new Error('write EPIPE');
  };
  for (let calls = 0; calls < 5; calls += 1)
    await assert.rejects(link.send('key', fail), /cannot be reached/);
  await assert.rejects(link.send('key', fail), /not asked for a moment/);
  assert.equal(asked, 5);
  assert.equal(await link.ask(async () => 'well'), 'well');
  await assert.rejects(link.send('key', fail), /not asked for a moment/);
});

test('a call that several wait for counts as one for each, and is another script than that for one alone', async () => {
  const sent: string[] = [];
  const evalsha = async (sha: string): Promise<never> => {
    sent.push(sha);
    throw new Error('write EPIPE');
  };
  const link = createLink(standIn({ evalsha }), { deadlineMs: 1000, where: 'here' });
  for (const calls of [1, 4]) {
    const answers = Array.from({ length: calls }, () => link.run(shared, ['key'], []));
    await Promise.allSettled([...answers, link.ask(well)]);
  }
  assert.deepEqual(sent, ['abc', 'def']);
  await assert.rejects(link.send('key', well), /not asked for a moment/);
});

test('of what nobody waits for any more nothing is sent again', async () => {
  for (const [calls, answer] of [
    [1, 'NOSCRIPT No matching script.'],
    [2, 'CROSSSLOT Keys in request'],
  ] as const) {
    const late = Promise.withResolvers<never>();
    const sent: string[] = [];
    const send = (text: string): Promise<never> => {
      sent.push(text);
      return late.promise;
    };
    const link = createLink(standIn({ evalsha: send, eval: send }), { deadlineMs: 10, where: 'here' });
    const answers = Array.from({ length: calls }, () => link.run(shared, ['key'], []));
    await link.ask(well);
    for (const one of answers) await assert.rejects(one, /did not answer within 10 ms/);
    late.reject(replyError(answer));
    await setImmediate();
    assert.equal(sent.length, 1);
  }
});

test('nobody waits for a connection that is made, or of which the first attempt has failed', async () => {
  const before = timers();
  for (const [status, event] of [
    ['ready', 'other'],
    ['connecting', 'ready'],
    ['connecting', 'error'],
  ] as const) {
    const client = standIn({ status });
    const ready = firstConnection(client, 5_000);
    client.emit(event, new Error('connect'));
    assert.equal(await Promise.race([ready, setImmediate('late')]), undefined, event);
    assert.equal(timers(), before, event);
  }
});

for (const [text, strategy] of [
  ['redis://127.0.0.1:1', 'retryStrategy'],
  ['redis+sentinel://127.0.0.1:1/master', 'sentinelRetryStrategy'],
] as const) {
  test(`what has been away for long is tried for twice a second: ${text}`, (t) => {
    const address = parseStoreAddress(text);
    assert.ok(address.kind === 'redis');
    const client = createClient(address, { trust: {}, deadlineMs: 250 });
    t.after(() => client.on('error', () => undefined).disconnect());
    assert.ok(client instanceof Redis);
    assert.ok(Number(client.options[strategy]?.(1000)) <= 500);
  });
}

test('who cannot listen for changes of keys prints nothing', async (t) => {
  const printed = t.mock.method(console, 'error', () => undefined);
  const listener = new Redis({ host: '127.0.0.1', port: await freePort() });
  t.after(listenOn(listener, 'changes', () => undefined));
  await new Promise((resolve) => listener.once('reconnecting', resolve));
  assert.equal(printed.mock.callCount(), 0);
});

test('what comes late neither ends a row of failures nor counts as one more', async () => {
  for (const [calls, isAsked] of [
    [5, false],
    [4, true],
  ] as const) {
    const link = createLink(standIn(), { deadlineMs: 10, where: 'here' });
    for (let call = 0; call < calls; call += 1) {
      const late = Promise.withResolvers<string>();
      await assert.rejects(
        link.send('key', () => late.promise),
        /did not answer within 10 ms/,
      );
      if (isAsked) late.reject(new Error('EPIPE'));
      else late.resolve('late');
    }
    // Of those that are not asked for one may try now and then.
    const [, asked] = await Promise.allSettled([link.send('key', well), link.send('key', well)]);
    assert.equal(asked.status === 'fulfilled', isAsked);
  }
});

test('an answer that is not one for each of those who asked is none for any of them', async () => {
  for (const answer of [null, 'OK', [], ['one'], ['one', 'two', 'three']]) {
    const link = createLink(standIn({ evalsha: async () => answer }), { deadlineMs: 1000, where: 'here' });
    const answers = [1, 2].map(() => link.run(shared, ['key'], []));
    // Asking for something else sends them.
    await link.ask(async () => 'well');
    for (const one of answers)
      await assert.rejects(one, { message: /something that is not known/, mayHaveHappened: true });
  }
});

/** A link by which every call has the same answer. */
function tells(answer: unknown): Link {
  const tell = async (): Promise<never> => answer as never;
  return { run: tell, send: tell, ask: tell, onReturn: () => undefined, close: () => undefined };
}

test('an answer in which one number is none, or is missing, is no answer', async () => {
  const counters = [aCounter({})];
  const unknown = { message: /something that is not known/, mayHaveHappened: true };
  for (const answer of [
    null,
    1,
    [],
    [null],
    'well',
    '1 7 x 3',
    '1 7 3',
    '2 7',
    '2 7 x',
    '3 x',
    '3 7 7',
    '4 7',
  ])
    await assert.rejects(createRedisLedger(tells(answer), '').draw(aDraw({ counters })), unknown);
  for (const answer of ['7', '7 x', 'x 7', '7 7 7'])
    await assert.rejects(createRedisLedger(tells(answer), '').readUsage('key', counters), unknown);
  const cells = { keyId: 'key', name: 'rate', intervalMs: 1, burst: 1, want: 1 };
  for (const answer of [
    ['x', 0, 0, 7],
    [1, 0, 0],
    [1, 0, 0, null],
  ])
    await assert.rejects(createRedisLedger(tells(answer), '').takeCells(cells), unknown);
  const place = { keyId: 'key', placeId: 'p', limit: 1, expiresInMs: 1 };
  await assert.rejects(createRedisLedger(tells('x'), '').enter(place), unknown);
});

const options = { prefix: '', isCluster: false, listen: () => () => undefined, onSetBack: undefined };

test('what a change of a key is answered in words that are not known may have happened', async () => {
  for (const answer of ['ok', null, 7]) {
    const keys = createRedisKeys(tells(answer), options);
    await assert.rejects(keys.changeKey({ from: undefined, to: aKey(), note: aNote() }), {
      message: /something that is not known/,
      mayHaveHappened: true,
    });
  }
});

test('a list that is none is no answer, and what is in one is read as far as it goes', async () => {
  for (const answer of ['OK', null]) {
    const keys = createRedisKeys(tells(answer), options);
    for (const asked of [keys.listKeys('', 9), keys.listAudit(undefined, 9)])
      await assert.rejects(asked, /something that is not known/);
  }
  for (const entry of [1, ['1-1', 1], null]) {
    const asked = createRedisKeys(tells([entry]), options).listAudit(undefined, 9);
    await assert.rejects(asked, /something that is not known/);
  }
  const odd = await createRedisKeys(tells([7]), options).listKeys('', 9);
  assert.deepEqual(odd, [{ id: '7', found: undefined }]);
});

test('the feed of changes is read past the breaker', (t) => {
  let reads = 0;
  const ask = async (): Promise<never> => {
    reads += 1;
    return ['0-0'] as never;
  };
  t.after(createRedisKeys({ ...tells(null), ask }, options).watch(() => undefined));
  assert.equal(reads, 1);
});
