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
/** Where the same schema only reports. */
const trialPath = '/v1/trial';

const door = await openDoor(
  { after },
  {
    // As much as some bodies of the longest that the route takes.
    limits: { bodyMemory: '32KB' },
    plans: { free: {}, once: { quotas: [{ name: 'life', limit: 1, per: 'lifetime' }] } },
    keys: [
      { id: 'demo', plan: 'free', secret: demoKey },
      { id: 'once', plan: 'once', secret: 'k-once' },
    ],
    routes: [
      { path: namePath, methods: ['POST'], body: { json: { maxSize: '16KB', schema } } },
      {
        name: 'trial',
        path: trialPath,
        methods: ['POST'],
        body: { json: { maxSize: '16KB', schema, onMismatch: 'report' } },
      },
    ],
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

const framings = ['declared', 'chunked'] as const;

for (const [title, type, body, outcome] of bodies) {
  for (const framing of framings) {
    test(`the upstream sees the bytes that were validated, or none: a ${framing} body ${title}`, async () => {
      const [answer] = await door.send(postBytes(namePath, type, body, framing));
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

for (const framing of framings) {
  test(`a schema that only reports refuses nobody, and all else that is refused stays so: ${framing}`, async () => {
    const { gateway } = door;
    const countBefore = await mismatches();
    const told = new Map<string | undefined, string | undefined>();
    for (const [title, type, body, outcome] of bodies) {
      const [answer] = await door.send(postBytes(trialPath, type, body, framing));
      const reached = door.reached();
      const refused = outcome !== 'passes' && outcome !== 'body_invalid';
      if (refused) assertRefused(answer, outcome, undefined, title);
      else
        assert.deepEqual([answer?.status, answer?.headers['x-gatehouse-refusal']], [200, undefined], title);
      assert.deepEqual(
        reached.map((request) => request.body),
        refused ? [] : [Buffer.from(body)],
        title,
      );
      const [strict] = await door.send(postBytes(namePath, type, body, framing));
      door.reached();
      const { error } = outcome === 'body_invalid' ? JSON.parse(strict?.text ?? '') : {};
      told.set(answer?.headers['x-request-id'], error);
    }
    const lines = await until(() => {
      const ours = gateway.logs().filter(({ requestId }) => told.has(requestId as string));
      return ours.length === told.size ? ours : undefined;
    });
    for (const { requestId, mismatch } of lines) assert.equal(mismatch, told.get(requestId as string));
    const reported = [...told.values()].filter((sentence) => sentence !== undefined);
    assert.deepEqual(reported, [
      'the body must be an object',
      'lastName is required',
      'lastName must be a string',
    ]);
    assert.equal((await mismatches()) - countBefore, reported.length);
  });
}

/** Of the one route that reports them: others have no such series. */
async function mismatches(): Promise<number> {
  const series = (await door.gateway.metrics()).match(/^gatehouse_body_mismatches_total\{.*$/gm) ?? [];
  assert.equal(series.length, 1);
  return Number(/^gatehouse_body_mismatches_total\{route="trial"\} (\d+)$/.exec(series[0])?.[1]);
}

test('a body that is only reported is charged as any other', async () => {
  const bytes = requestBytes(
    `POST ${trialPath}`,
    [
      ['apiKey', 'k-once'],
      ['Content-Type', plain],
    ],
    '{}',
  );
  assert.equal((await door.send(bytes))[0]?.status, 200);
  assertRefused((await door.send(bytes))[0], 'quota_exhausted');
  assert.equal(door.reached().length, 1);
});

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

function postBytes(
  path: string,
  type: string,
  body: string | Buffer,
  framing: (typeof framings)[number],
): Buffer {
  const headers = [
    ['apiKey', demoKey],
    ['Content-Type', type],
  ] as const;
  if (framing === 'declared') return requestBytes(`POST ${path}`, headers, body);
  const chunked = [...headers, ['Transfer-Encoding', 'chunked']] as const;
  return requestBytes(`POST ${path}`, chunked, inChunks(Buffer.from(body)));
}

/** Seven bytes at a time, so that characters and tokens are cut in two. */
function inChunks(body: Buffer): Buffer {
  const parts: Buffer[] = [];
  for (let at = 0; at < body.length; at += 7) {
    const part = body.subarray(at, at + 7);
    parts.push(Buffer.from(`${part.length.toString(16)}\r\n`), part, Buffer.from('\r\n'));
  }
  return Buffer.concat([...parts, Buffer.from('0\r\n\r\n')]);
}
