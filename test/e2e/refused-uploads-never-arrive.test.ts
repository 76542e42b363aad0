import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect } from 'node:net';
import { after, describe, test } from 'node:test';
import type { RefusalCode } from '../../src/refusals.ts';
import { assertRefused } from '../helpers/assert-refused.ts';
import { boundary, formBody, type Part } from '../helpers/form-body.ts';
import { unnamedFiles } from '../helpers/open-files.ts';
import type { RawResponse } from '../helpers/parse-responses.ts';
import { until } from '../helpers/poll.ts';
import { openRaw } from '../helpers/raw-socket.ts';
import { startRecordingUpstream } from '../helpers/recording-upstream.ts';
import { wav } from '../helpers/sample-files.ts';
import {
  answerTo,
  formType,
  sendUpload,
  uploadBytes,
  type Framing,
  type Upload,
} from '../helpers/send-upload.ts';
import { startGateway, type Yaml } from '../helpers/start-gateway.ts';

const scene = { after };
const files = { file: { types: ['audio/wav'], maxSize: '1MB', maxCount: 2, extensions: ['wav'] } };
const fields = {
  maxCount: 2,
  maxSize: '1KB',
  names: ['note', 'kind'],
  schema: { type: 'object', properties: { kind: { enum: ['a', 'b'] } } },
};
const ways = ['whole', 'stream'] as const;

const upstream = await startRecordingUpstream(scene, (_request, res) => res.end('ok'));
const routes = ways.flatMap((forward) => [
  route(`/v1/${forward}/form`, { upload: { maxSize: '3MB', files, fields, forward } }),
  {
    ...route(`/v1/${forward}/trial`, {
      upload: { maxSize: '3MB', files, fields: { ...fields, onMismatch: 'report' }, forward },
    }),
    name: `trial-${forward}`,
  },
  route(`/v1/${forward}/file`, { file: { maxSize: '1MB', types: ['audio/wav'], forward } }),
  route(`/v1/${forward}/slow`, { upload: { maxSize: '3MB', files, timeout: '300ms', forward } }),
]);
routes.push(route('/v1/any', { any: { maxSize: '1MB' } }));
const gateway = await startGateway(scene, { routes, spool: { disk: '6MB' } }, { upstream: upstream.url });

function route(path: string, body: object): Yaml {
  return { path, methods: ['POST', 'PUT'], body };
}

const sound = wav(300_000);
const good: Part = { name: 'file', fileName: 'a.wav', type: 'audio/wav', data: sound };
const note: Part = { name: 'note', data: 'hello' };
const text = Buffer.from('not a sound, just text\n'.repeat(20_000));

/** Bodies that are in order until their end, so that a stream of them is well under way when the fault comes. */
const forms: Readonly<Record<string, readonly [refusal: RefusalCode, body: Buffer, says?: string]>> = {
  'no file at all': ['file_missing', formBody([note]), 'file is missing'],
  'an empty file': ['file_missing', formBody([{ ...good, data: '' }]), 'file is empty'],
  'text as a sound': [
    'file_unsupported',
    formBody([{ ...good, data: text }]),
    'file must be audio/wav: its content is not',
  ],
  'a path as a file name': ['file_unsupported', formBody([{ ...good, fileName: '../a.wav' }])],
  'a file that is too large': [
    'file_too_large',
    formBody([{ ...good, data: wav(1024 * 1024) }]),
    'file must be at most 1 MB',
  ],
  'a second file that is too large': [
    'file_too_large',
    formBody([good, { ...good, data: wav(1024 * 1024) }]),
  ],
  'a second file that is text': ['file_unsupported', formBody([good, { ...good, data: text }])],
  'too many files': ['body_invalid', formBody([good, good, good])],
  'a file nobody asked for': [
    'body_invalid',
    formBody([good, { ...good, name: 'other' }]),
    'Files are taken only as file',
  ],
  'a field that is too large': ['body_too_large', formBody([good, { name: 'note', data: 'x'.repeat(1025) }])],
  'too many fields': ['body_invalid', formBody([good, note, note, note])],
  'a field against its schema': ['body_invalid', formBody([good, { name: 'kind', data: 'c' }])],
  'no end': ['file_ambiguous', formBody([good]).subarray(0, -4)],
  'half a delimiter': ['file_ambiguous', formBody([good]).subarray(0, -30)],
  'something after the end': ['file_ambiguous', Buffer.concat([formBody([good]), formBody([good])])],
  'its boundary inside a file': [
    'file_ambiguous',
    formBody([{ ...good, data: Buffer.concat([sound, Buffer.from(`--${boundary}x`), sound]) }]),
  ],
  'a second part with two file names': [
    'file_ambiguous',
    formBody([
      good,
      {
        headers: 'Content-Disposition: form-data; name="file"; filename="a.wav"; filename="b.exe"',
        data: sound,
      },
    ]),
  ],
};

for (const way of ways) {
  for (const framing of ['declared', 'chunked'] as const satisfies readonly Framing[]) {
    test(`${way}, ${framing}: a refused form is never complete at the upstream`, async (t) => {
      for (const [name, [refusal, body, says]] of Object.entries(forms)) {
        const before = upstream.requests.length;
        const answer = await answerTo(t, gateway.port, { path: `/v1/${way}/form`, body, framing });
        assertRefused(answer, refusal, says, name);
        const seen = upstream.requests.slice(before);
        if (way === 'whole') assert.deepEqual(seen, [], name);
        await until(() => seen.every(({ aborted }) => aborted), {
          what: `${name}: the exchange is broken off`,
        });
        assert.ok(
          seen.every(({ complete }) => !complete),
          name,
        );
      }
    });

    test(`${way}, ${framing}: an accepted form arrives byte for byte`, async (t) => {
      for (const parts of [[good], [note, good, good], [good, { name: 'kind', data: 'a' }]]) {
        const body = formBody(parts);
        const answer = await answerTo(t, gateway.port, { path: `/v1/${way}/form`, body, framing });
        assert.equal(answer.status, 200, answer.text);
        const arrived = upstream.requests.at(-1)!;
        assert.ok(arrived.body.equals(body));
        assert.equal(arrived.headers['content-type'], formType);
        const known = framing === 'declared' || way === 'whole';
        assert.equal(arrived.headers['content-length'], known ? String(body.length) : undefined);
        assert.equal(arrived.headers['transfer-encoding'], known ? undefined : 'chunked');
      }
    });

    test(`${way}, ${framing}: where a schema only reports, the form that it would refuse arrives byte for byte`, async (t) => {
      const upload = { path: `/v1/${way}/trial`, framing };
      const counts = async (mismatches: number): Promise<boolean> =>
        (await gateway.metrics()).includes(`mismatches_total{route="trial-${way}"} ${mismatches}\n`);
      const before = framing === 'declared' ? 0 : 1;
      assert.ok(await counts(before), 'it is there before the first');
      const refused = await answerTo(t, gateway.port, { ...upload, body: formBody([good, good, good]) });
      assertRefused(refused, 'body_invalid');
      const body = formBody([good, { name: 'kind', data: 'c' }]);
      const answer = await answerTo(t, gateway.port, { ...upload, body });
      assert.equal(answer.status, 200, answer.text);
      assert.ok(upstream.requests.at(-1)?.body.equals(body));
      assert.equal((await gateway.lineOf(refused))['mismatch'], undefined);
      assert.equal((await gateway.lineOf(answer))['mismatch'], 'kind must be one of the allowed values');
      assert.ok(await counts(before + 1));
    });

    test(`${way}, ${framing}: a bare file is held to its rule`, async (t) => {
      const path = `/v1/${way}/file`;
      const put = (contentType: string, body: Buffer): Promise<RawResponse> =>
        answerTo(t, gateway.port, { path, framing, method: 'PUT', contentType, body });
      assert.equal((await put('audio/x-wav', sound)).status, 200);
      assert.ok(upstream.requests.at(-1)?.body.equals(sound));
      const before = upstream.requests.length;
      assertRefused(await put('audio/mpeg', sound), 'file_unsupported');
      assertRefused(await put('audio/wav', text), 'file_unsupported');
      assertRefused(await put('audio/wav', wav(1024 * 1024)), 'file_too_large');
      assertRefused(await put('audio/wav', Buffer.alloc(0)), 'file_missing');
      assert.ok(upstream.requests.slice(before).every(({ complete }) => !complete));
    });
  }

  test(`${way}: what arrives too slowly is refused by the route's own time`, async (t) => {
    const raw = await openRaw(t, gateway.port);
    const { head, body } = uploadBytes({ path: `/v1/${way}/slow`, body: formBody([good]) });
    raw.write(Buffer.concat([head, body.subarray(0, 200_000)]));
    const [answer] = await raw.responses(1);
    assertRefused(answer, 'upload_too_slow', 'The request body must arrive within 0.3 s');
    assert.ok(upstream.requests.every(({ target, complete }) => !target.endsWith('/slow') || !complete));
    const short = uploadBytes({ path: `/v1/${way}/slow`, body: Buffer.alloc(1000) });
    const next = await openRaw(t, gateway.port);
    next.write(Buffer.concat([short.head, Buffer.from(`--${boundary}`)]));
    const [late] = await next.responses(1);
    assertRefused(late, 'upload_too_slow');
    assert.equal(late?.headers['connection'], 'close', 'what is left of it may never come');
  });

  test(`${way}: a client that leaves in the middle leaves nothing behind`, async (t) => {
    const { head, body } = uploadBytes({ path: `/v1/${way}/form`, body: formBody([good]) });
    const before = upstream.requests.length;
    for (const cut of [0, 1, 100, 5000, 150_000, body.length - 1]) {
      for (const reset of [false, true]) {
        const raw = await openRaw(t, gateway.port);
        raw.write(Buffer.concat([head, body.subarray(0, cut)]));
        await until(() => raw.socket.writableLength === 0);
        if (reset) raw.socket.resetAndDestroy();
        else raw.socket.destroy();
      }
    }
    await nothingLeft();
    assert.ok(upstream.requests.slice(before).every(({ complete }) => !complete));
  });
}

describe('what is known before the body', () => {
  const large = formBody([{ ...good, data: Buffer.alloc(4 * 1024 * 1024) }]);
  const early: readonly (Partial<Upload> & { name: string; refusal: RefusalCode })[] = [
    { name: 'too large a length', body: large, refusal: 'body_too_large' },
    { name: 'another content type', contentType: 'application/json', refusal: 'file_unsupported' },
    { name: 'two boundaries', contentType: `${formType}; boundary=x`, refusal: 'file_ambiguous' },
    { name: 'no boundary', contentType: 'multipart/form-data', refusal: 'file_ambiguous' },
    {
      name: 'a compressed body',
      headers: [['Content-Encoding', 'gzip']],
      refusal: 'content_encoding_unsupported',
    },
    { name: 'no body', body: Buffer.alloc(0), refusal: 'file_missing' },
  ];
  for (const { name, refusal, ...upload } of early) {
    test(`${name} is refused without "100 Continue" and without a byte of the body`, async (t) => {
      const raw = await openRaw(t, gateway.port);
      const headers = [...(upload.headers ?? []), ['Expect', '100-continue'] as const];
      const order: Upload = { path: '/v1/stream/form', body: formBody([good]), ...upload, headers };
      raw.write(uploadBytes(order).head);
      const [answer] = await raw.responses(1);
      assertRefused(answer, refusal);
    });
  }

  for (const way of ways) {
    test(`${way}: an admitted request is invited to send its body`, async (t) => {
      const raw = await openRaw(t, gateway.port);
      const headers = [['Expect', '100-continue']] as const;
      const { head, body } = uploadBytes({ path: `/v1/${way}/form`, body: formBody([good]), headers });
      raw.write(head);
      await raw.receivedUntil((bytes) => bytes.toString().startsWith('HTTP/1.1 100'));
      raw.write(body);
      const answers = await raw.responses(1);
      assert.deepEqual(
        answers.map(({ status }) => status),
        [100, 200],
      );
      assert.equal(upstream.requests.at(-1)?.headers['expect'], undefined);
    });
  }
});

test('stream: the upstream hears nothing before the type of the first file passed', async (t) => {
  const before = upstream.requests.length;
  const raw = await openRaw(t, gateway.port);
  const { head, body } = uploadBytes({ path: '/v1/stream/form', body: formBody([note, good]) });
  const name = body.indexOf('RIFF');
  raw.write(Buffer.concat([head, body.subarray(0, name + 8)]));
  await until(() => raw.socket.writableLength === 0);
  assert.equal(upstream.requests.length, before);
  raw.write(body.subarray(name + 8, name + 100_000));
  await until(() => upstream.requests.length === before + 1);
  raw.write(body.subarray(name + 100_000));
  assert.equal((await raw.responses(1))[0]?.status, 200);
});

test('stream: when the answer had begun already, it is broken off and not ended', async (t) => {
  upstream.onArrival = (_request, res) => void res.writeHead(200, { 'content-length': 9 }).write('part');
  t.after(() => (upstream.onArrival = undefined));
  const raw = await openRaw(t, gateway.port);
  const { head, body } = uploadBytes({ path: '/v1/stream/form', body: forms['too many fields']![1] });
  raw.write(Buffer.concat([head, body.subarray(0, 200_000)]));
  await raw.receivedUntil((bytes) => bytes.toString().endsWith('part'));
  raw.write(body.subarray(200_000));
  await raw.receivedUntilClose();
  const [answer] = await raw.responses(1);
  assert.equal(answer?.complete, false);
});

test('a client that is still sending gets to read that its file is too large', async (t) => {
  const body = formBody([{ ...good, data: wav(8 * 1024 * 1024) }]);
  for (const way of ways) {
    const raw = await sendUpload(t, gateway.port, { path: `/v1/${way}/form`, body, framing: 'chunked' });
    const [answer] = await raw.responses(1);
    assertRefused(answer, 'file_too_large');
    assert.equal(raw.error, undefined);
  }
});

const lastRequests = {
  'asks for the end of its connection': 'HTTP/1.1\r\nConnection: close',
  'speaks HTTP/1.0': 'HTTP/1.0',
};
for (const [what, version] of Object.entries(lastRequests)) {
  test(`a client that ${what} gets to read its refusal, though its short body comes later`, async (t) => {
    const raw = await openRaw(t, gateway.port);
    raw.write(`POST /v1/any ${version}\r\nHost: a\r\nContent-Length: 40000\r\n\r\n`);
    const [answer] = await raw.responses(1);
    assertRefused(answer, 'key_missing');
    await openRaw(t, gateway.port).then((other) => {
      other.write('GET / HTTP/1.1\r\nHost: a\r\n\r\n');
      return other.responses(1);
    });
    // What comes on a closed connection resets it, and what the client has not read by then is lost.
    assert.equal(raw.closed, false);
    raw.write(Buffer.alloc(40_000));
    await raw.receivedUntilClose();
    assert.equal(raw.error, undefined);
  });
}

test('a client that is refused is read though it sends another request behind, or it might never read why', async (t) => {
  const client = connect({ port: gateway.port, allowHalfOpen: true });
  t.after(() => client.destroy());
  const chunks: Buffer[] = [];
  client.on('data', (chunk: Buffer) => void chunks.push(chunk));
  client.write('POST /v1/any HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n');
  await until(() => String(Buffer.concat(chunks)).includes('API key is required'));
  client.write('0\r\n\r\n');
  await once(client, 'end');
  client.write('POST /v1/any HTTP/1.1\r\nHost: a\r\nContent-Length: 9000000\r\n\r\n');
  for (let sent = 0; sent < 9; sent += 1)
    await new Promise<void>((resolve, reject) => {
      client.write(Buffer.alloc(1_000_000), (error) => (error ? reject(error) : resolve()));
    });
  client.end();
  await once(client, 'close');
  assert.equal(String(Buffer.concat(chunks)).match(/HTTP\/1\.1 /g)?.length, 1);
});

test('any: a body that turns out too large is never complete at the upstream', async (t) => {
  const body = Buffer.alloc(2 * 1024 * 1024, 'x');
  const contentType = 'application/octet-stream';
  const upload = { path: '/v1/any', body, contentType };
  const before = upstream.requests.length;
  assertRefused(await answerTo(t, gateway.port, upload), 'body_too_large');
  assert.equal(upstream.requests.length, before);
  assertRefused(await answerTo(t, gateway.port, { ...upload, framing: 'chunked' }), 'body_too_large');
  assert.ok(upstream.requests.slice(before).every(({ complete }) => !complete));
  for (const framing of ['declared', 'chunked'] as const) {
    for (const size of [0, 1, 65_536, 65_537, 1024 * 1024]) {
      const part = body.subarray(0, size);
      const answer = await answerTo(t, gateway.port, { ...upload, body: part, framing });
      assert.equal(answer.status, 200);
      assert.ok(upstream.requests.at(-1)?.body.equals(part));
    }
  }
});

test('a full spool refuses the uploads that do not fit and no others, and is free again afterwards', async (t) => {
  const body = formBody([
    { ...good, data: wav(960_000) },
    { ...good, data: wav(960_000) },
  ]);
  const { head } = uploadBytes({ path: '/v1/whole/form', body });
  // Three fit.
  const uploads = await Promise.all(
    Array.from({ length: 5 }, async () => {
      const raw = await openRaw(t, gateway.port);
      raw.write(Buffer.concat([head, body.subarray(0, -10)]));
      return raw;
    }),
  );
  await until(() => uploads.filter((raw) => raw.received().length > 0).length >= 2);
  for (const raw of uploads) raw.write(body.subarray(-10));
  const answers = await Promise.all(uploads.map(async (raw) => (await raw.responses(1))[0]));
  const refused = answers.filter((answer) => answer?.status !== 200);
  assert.equal(refused.length, 2);
  for (const answer of refused) assertRefused(answer, 'spool_full');
  for (const raw of uploads) raw.socket.destroy();
  await nothingLeft();
  assert.equal((await answerTo(t, gateway.port, { path: '/v1/whole/form', body })).status, 200);
});

test('after all of it the gateway is up, holds nothing and has nothing to complain of', async () => {
  await nothingLeft();
  assert.equal(gateway.child.exitCode, null);
  assert.doesNotMatch(gateway.logText(), /Warning|a fault of the gateway/);
});

/** No request in flight and no file that is open without a name. */
async function nothingLeft(): Promise<void> {
  await until(async () => (await gateway.inFlight()) === 0 && unnamedFiles(gateway.pid) === 0);
}
