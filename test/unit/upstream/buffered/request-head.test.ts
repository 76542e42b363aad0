import assert from 'node:assert/strict';
import { test } from 'node:test';
import { RequestHead } from '../../../../src/upstream/buffered/request-head.ts';

const request = {
  method: 'POST',
  path: '/v1/name?x=1',
  host: 'a.test:81',
  headers: ['X-A', 'é', 'content-length', '2'],
};

test('the head of a request goes out as it was given, with its host and what becomes of its connection', () => {
  assert.equal(
    new RequestHead(request).write('keep-alive'),
    'POST /v1/name?x=1 HTTP/1.1\r\nhost: a.test:81\r\nconnection: keep-alive\r\nX-A: é\r\ncontent-length: 2\r\n\r\n',
  );
});

// The last two are line ends once latin1 has cut them down to a byte.
for (const character of ['\r', '\n', '\0', '\x1f', '\x7f', 'č', 'Ċ']) {
  const name = `U+${character.charCodeAt(0).toString(16)}`;
  test(`no head is made with ${name} in a value, a host or a path`, () => {
    const bad = `a${character}X-Gatehouse-Plan: best`;
    assert.throws(() => new RequestHead({ ...request, headers: ['X-A', bad] }), /cannot be sent/);
    assert.throws(() => new RequestHead({ ...request, host: bad }), /cannot be sent/);
    assert.throws(() => new RequestHead({ ...request, path: `/${character}` }), /cannot be sent/);
  });
}

test('no head is made with a blank in its path, which would end it', () => {
  assert.throws(() => new RequestHead({ ...request, path: '/a HTTP/1.1' }), /cannot be sent/);
});
