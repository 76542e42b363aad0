import assert from 'node:assert/strict';
import { IncomingMessage, ServerResponse } from 'node:http';
import { Socket } from 'node:net';
import { test } from 'node:test';
import { readIfMatch, readJsonBody, readLines, readMark } from '../../../src/admin/read-request.ts';
import { keyBytesMax } from '../../../src/keys/key-limits.ts';

function requestWith(headers: IncomingMessage['headers']): IncomingMessage {
  return Object.assign(new IncomingMessage(new Socket()), { headers });
}

const versionsIn = (tags: string) => readIfMatch(requestWith({ 'if-match': tags }));

test('If-Match allows the versions that it names, and a tag that no key has allows none', () => {
  assert.equal(readIfMatch(requestWith({})), undefined);
  assert.equal(versionsIn('*'), undefined);
  assert.deepEqual(versionsIn('"1" , "20"'), [1, 20]);
  assert.deepEqual(versionsIn('"999999999999999"'), [999_999_999_999_999]);
  for (const tags of ['"1",', ', "1"', '"1",,"a,b"']) assert.deepEqual(versionsIn(tags), [1], tags);
  for (const tag of ['W/"1"', '"01"', '"1.0"', '"x"', '""', '"1000000000000000"'])
    assert.deepEqual(versionsIn(tag), [], tag);
  for (const tags of ['', '1', '"1", 2', ',', 'x"1"', '"1"x', 'w/"1"', '"1" "2"'])
    assert.throws(() => versionsIn(tags), { code: 'malformed' }, tags);
});

test('a request is known again by its name, its token and all that it asks', () => {
  const asked = { operation: 'createKey', actor: 'ada', content: { plan: 'free', name: 'x' } };
  const markOf = (name: string, other: Partial<typeof asked> = {}) =>
    readMark(requestWith({ 'idempotency-key': name }), { ...asked, ...other });
  assert.equal(readMark(requestWith({}), asked), undefined);
  const mark = markOf('one');
  assert.deepEqual(markOf('one', { content: { name: 'x', plan: 'free' } }), mark);
  assert.notEqual(markOf('two')?.name, mark?.name);
  assert.notEqual(markOf('one', { actor: 'eve' })?.name, mark?.name);
  assert.notEqual(markOf('one', { operation: 'rotateKey' })?.content, mark?.content);
  assert.notEqual(markOf('one', { content: { plan: 'free', name: 'y' } })?.content, mark?.content);
  for (const name of ['~', '~'.repeat(255)]) assert.ok(markOf(name));
  for (const name of ['', 'a b', 'ä', '~'.repeat(256)])
    assert.throws(() => markOf(name), { code: 'malformed' }, name);
});

test('a body may be as large as the fields of a key can be, and no byte larger', async () => {
  for (const length of [keyBytesMax, keyBytesMax + 1]) {
    const whole = requestWith({ 'content-type': 'application/json', 'content-length': String(length) });
    whole.push('{}'.padEnd(length));
    whole.push(null);
    const read = readJsonBody(whole, new ServerResponse(whole), { required: true });
    if (length === keyBytesMax) assert.deepEqual(await read, {});
    else await assert.rejects(read, { code: 'too_large' });
  }
});

test('a client has half a minute for its body, and no longer than that is its connection watched', async (t) => {
  t.mock.timers.enable({ apis: ['setTimeout'] });
  const json = { 'content-type': 'application/json' };
  const res = new ServerResponse(requestWith({}));
  const late = requestWith(json);
  const reading = readJsonBody(late, res, { required: true }).catch(() => 'cut');
  late.push('{');
  t.mock.timers.tick(29_999);
  assert.ok(!late.socket.destroyed);
  t.mock.timers.tick(1);
  assert.ok(late.socket.destroyed);
  late.destroy();
  assert.equal(await reading, 'cut');

  const whole = requestWith(json);
  whole.push('{"a":1}');
  whole.complete = true;
  whole.push(null);
  assert.deepEqual(await readJsonBody(whole, res, { required: true }), { a: 1 });
  t.mock.timers.tick(30_000);
  assert.ok(!whole.socket.destroyed);
});

test('the time that a line of an import takes is not taken from its client', async (t) => {
  t.mock.timers.enable({ apis: ['setTimeout'] });
  const begin = async () => {
    const req = requestWith({ 'content-type': 'text/csv' });
    const chunks = readLines(req, new ServerResponse(req)).chunks[Symbol.asyncIterator]();
    req.push('a\n');
    assert.equal(String((await chunks.next()).value), 'a\n');
    t.mock.timers.tick(60_000);
    assert.ok(!req.socket.destroyed);
    return { req, next: chunks.next() };
  };
  const silent = await begin();
  t.mock.timers.tick(30_000);
  assert.ok(silent.req.socket.destroyed);

  const whole = await begin();
  whole.req.complete = true;
  whole.req.push(null);
  assert.equal((await whole.next).done, true);
  t.mock.timers.tick(30_000);
  assert.ok(!whole.req.socket.destroyed);
});
