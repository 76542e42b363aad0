import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import type { RefusalCode } from '../../src/refusals.ts';
import { assertRefused } from '../helpers/assert-refused.ts';
import { openDoor } from '../helpers/door.ts';
import { until } from '../helpers/poll.ts';
import { openRaw, requestBytes } from '../helpers/raw-socket.ts';
import { demoKey, namePath } from '../helpers/start-gateway.ts';

// What was validated is what the upstream sees: the very bytes, or nothing.

const schema = {
  type: 'object',
  required: ['firstName', 'lastName'],
  properties: { firstName: { type: 'string' }, lastName: { type: 'string' } },
};
const door = await openDoor(
  { after },
  {
    // As much as some bodies of the longest that the route takes.
    limits: { bodyMemory: '32KB' },
    routes: [{ path: namePath, methods: ['POST'], body: { json: { maxSize: '16KB', schema } } }],
  },
);

const name = '{"firstName":"Ada","lastName":"Lovelace"}';
const plain = 'application/json';

const bodies: [name: string, type: string, body: string | Buffer, outcome: 'passes' | RefusalCode][] = [
  ['plain', plain, name, 'passes'],
  ['with charset', 'application/json; charset=utf-8', name, 'passes'],
  ['in capitals', 'Application/JSON;charset="UTF-8"', name, 'passes'],
  ['with blanks', plain, `\n\t ${name} \r\n`, 'passes'],
  [
    'with numbers beyond 2^53',
    plain,
    name.replace('}', ',"n":12345678901234567890.10,"e":1E2,"z":-0}'),
    'passes',
  ],
  ['with escapes', plain, '{"first\\u004eame":"\\u0041","lastName":"\\ud83d\\ude00"}', 'passes'],
  ['in Unicode', plain, '{"firstName":"Zoë","lastName":"😀"}', 'passes'],
  ['of another type', 'text/plain', name, 'content_type_unsupported'],
  ['in UTF-16', 'application/json; charset=utf-16', Buffer.from(name, 'utf16le'), 'content_type_unsupported'],
  ['in UTF-16 undeclared', plain, Buffer.from(name, 'utf16le'), 'body_malformed'],
  ['with two charsets', 'application/json; charset=utf-8; charset=utf-16', name, 'content_type_unsupported'],
  ['with a byte order mark', plain, `\uFEFF${name}`, 'body_malformed'],
  ['in Latin-1', plain, Buffer.from(name.replace('Ada', 'Zoë'), 'latin1'), 'body_malformed'],
  ['with a key twice', plain, '{"firstName":"a","firstName":"b","lastName":"c"}', 'body_malformed'],
  [
    'with a key twice, once escaped',
    plain,
    '{"firstName":"a","first\\u004eame":1,"lastName":"c"}',
    'body_malformed',
  ],
  ['with __proto__', plain, name.replace('}', ',"__proto__":{}}'), 'body_malformed'],
  [
    'nested too deeply',
    plain,
    name.replace('}', `,"a":${'['.repeat(40)}${']'.repeat(40)}}`),
    'body_malformed',
  ],
  ['with a NUL behind', plain, `${name}\0`, 'body_malformed'],
  ['of blanks', plain, '  ', 'body_malformed'],
  ['that is a list', plain, `[${name}]`, 'body_invalid'],
  ['without a name', plain, '{"firstName":"a"}', 'body_invalid'],
  ['with a name that is no string', plain, '{"firstName":"a","lastName":["secret-value"]}', 'body_invalid'],
];

for (const [title, type, body, outcome] of bodies) {
  for (const framing of ['declared', 'chunked'] as const) {
    test(`the upstream sees the bytes that were validated, or none: a ${framing} body ${title}`, async () => {
      const headers = [
        ['apiKey', demoKey],
        ['Content-Type', type],
      ] as const;
      const [answer] = await door.send(
        framing === 'declared'
          ? requestBytes(`POST ${namePath}`, headers, body)
          : requestBytes(
              `POST ${namePath}`,
              [...headers, ['Transfer-Encoding', 'chunked']],
              inChunks(Buffer.from(body)),
            ),
      );
      const reached = door.reached();
      if (outcome !== 'passes') {
        assertRefused(answer, outcome);
        assert.ok(!answer?.text.includes('secret-value'));
        assert.deepEqual(reached, []);
        return;
      }
      assert.equal(answer?.status, 200);
      assert.deepEqual(
        reached.map((request) => request.body),
        [Buffer.from(body)],
      );
      assert.equal(reached[0]?.headers['content-type'], type);
      assert.equal(reached[0].headers['content-length'], String(Buffer.byteLength(body)));
      assert.equal(reached[0].headers['transfer-encoding'], undefined);
    });
  }
}

test('a body that came in pieces while its request waited is taken whole, and its memory comes back', async (t) => {
  const { gateway, upstream } = door;
  const { handler } = upstream;
  t.after(() => (upstream.handler = handler));
  const body = name.padEnd(15_000);
  const head = [
    ['apiKey', demoKey],
    ['Content-Type', plain],
  ] as const;
  const first = requestBytes(`POST ${namePath}`, head, name);
  const second = requestBytes(`POST ${namePath}`, head, body);
  // As often as would use up the memory if a part of it stayed taken.
  for (let round = 0; round < 4; round += 1) {
    const held: (() => unknown)[] = [];
    upstream.handler = (_request, res) => held.push(() => res.end());
    const raw = await openRaw(t, gateway.port);
    raw.write(first);
    await until(() => held.length === 1);
    for (let at = 0; at < second.length; at += 5000) {
      raw.write(second.subarray(at, at + 5000));
      // A later call that is answered shows that this piece has been read.
      await (await fetch(gateway.url)).arrayBuffer();
    }
    held.pop()?.();
    await until(() => held.length === 1);
    held.pop()?.();
    const statuses = (await raw.responses(2)).map(({ status }) => status);
    assert.deepEqual(statuses, [200, 200]);
    assert.deepEqual(
      door.reached().map((request) => request.body),
      [Buffer.from(name), Buffer.from(body)],
    );
  }
});

/** Seven bytes at a time, so that characters and tokens are cut in two. */
function inChunks(body: Buffer): Buffer {
  const parts: Buffer[] = [];
  for (let at = 0; at < body.length; at += 7) {
    const part = body.subarray(at, at + 7);
    parts.push(Buffer.from(`${part.length.toString(16)}\r\n`), part, Buffer.from('\r\n'));
  }
  return Buffer.concat([...parts, Buffer.from('0\r\n\r\n')]);
}
