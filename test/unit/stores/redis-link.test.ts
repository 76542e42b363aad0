import assert from 'node:assert/strict';
import { EventEmitter } from 'node:events';
import { test } from 'node:test';
import type { Client } from '../../../src/stores/redis/client.ts';
import { callOf } from '../../../src/stores/redis/command.ts';
import { createLink } from '../../../src/stores/redis/link.ts';

/** A client as far as a link knows one, which is connected as long as the test says so. */
function standIn(over: object = {}): Client {
  const client = { status: 'ready', isCluster: false, stream: { writableCorked: 1 }, ...over };
  return Object.assign(new EventEmitter(), client) as unknown as Client;
}

function replyError(message: string): Error {
  return Object.assign(new Error(message), { name: 'ReplyError' });
}

const script = { source: 'return 1', sha: 'abc' };

test('a script that Redis does not know is sent whole, unless nobody waits for it any more', async () => {
  const sent: string[] = [];
  const client = standIn({
    evalsha: async (sha: string) => {
      sent.push(sha);
      throw replyError('NOSCRIPT No matching script.');
    },
    eval: async (source: string) => sent.push(source),
  });
  await callOf(script, ['key'], [])(client, () => true);
  assert.deepEqual(sent.splice(0), ['abc', 'return 1']);
  await assert.rejects(
    callOf(script, ['key'], [])(client, () => false),
    /NOSCRIPT/,
  );
  assert.deepEqual(sent, ['abc']);
});

test('a script that Redis refuses for another reason is not sent again', async () => {
  const sent: string[] = [];
  const client = standIn({
    evalsha: async () => {
      throw replyError('WRONGTYPE Operation against a key');
    },
    eval: async (source: string) => sent.push(source),
  });
  await assert.rejects(
    callOf(script, ['key'], [])(client, () => true),
    /WRONGTYPE/,
  );
  assert.deepEqual(sent, []);
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

const failures: readonly (readonly [
  what: string,
  event: string,
  error: Error | undefined,
  mayPass: boolean,
])[] = [
  ['is loading its data', 'loading', undefined, true],
  ['is not there', 'error', Object.assign(new Error('connect'), { code: 'ECONNREFUSED' }), true],
  ['closes the connection', 'error', new Error('Connection is closed.'), true],
  ['has no free client', 'error', replyError('ERR max number of clients reached'), true],
  ['is behind sentinels that are not there', 'error', new Error('All sentinels are unreachable.'), true],
  ['refuses the password', 'error', replyError('WRONGPASS invalid username-password pair'), false],
  ['wants a password', 'error', replyError('NOAUTH Authentication required.'), false],
  [
    'denies a command',
    'error',
    replyError("NOPERM User x has no permissions to run the 'ping' command"),
    false,
  ],
  ['is no Redis', 'error', new Error('Protocol error, got "H" as reply type byte'), false],
];
for (const [what, event, error, mayPass] of failures) {
  test(`a Redis that ${what} is ${mayPass ? '' : 'not '}worth waiting for`, async () => {
    const client = standIn({ status: 'connecting' });
    const link = createLink(client, { deadlineMs: 1000, where: 'here' });
    client.emit(event, error);
    await assert.rejects(
      link.ask(async () => 'never'),
      { name: 'StoreUnavailable', mayPass },
    );
  });
}

test('what one call is refused for keeps from no other', async () => {
  const link = createLink(standIn(), { deadlineMs: 1000, where: 'here' });
  const full = replyError('OOM command not allowed');
  for (let calls = 0; calls < 9; calls += 1)
    await assert.rejects(
      link.send('key', () => Promise.reject(full)),
      /no memory left/,
    );
  assert.equal(await link.send('key', async () => 'well'), 'well');
});

test('an answer that is not one for each of those who asked is none for any of them', async () => {
  const shared = { ...script, many: { source: 'return 1', sha: 'def' } };
  for (const answer of [null, 'OK', [], ['one']]) {
    const link = createLink(standIn({ evalsha: async () => answer }), { deadlineMs: 1000, where: 'here' });
    const answers = [1, 2].map(() => link.run(shared, ['key'], []));
    // Asking for something else sends them.
    await link.ask(async () => 'well');
    for (const one of answers)
      await assert.rejects(one, { message: /something that is not known/, mayHaveHappened: true });
  }
});

test('a call that nobody answered in time may have been done', async () => {
  const link = createLink(standIn(), { deadlineMs: 20, where: 'here' });
  await assert.rejects(
    link.send('key', () => new Promise(() => undefined)),
    { message: 'Redis did not answer within 20 ms', mayHaveHappened: true },
  );
});
