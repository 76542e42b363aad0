import assert from 'node:assert/strict';
import { after, describe, test } from 'node:test';
import { boundary, formBody, type Part } from '../helpers/form-body.ts';
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
import { startGateway } from '../helpers/start-gateway.ts';
import { unnamedFiles } from '../helpers/unnamed-files.ts';

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
  route(`/v1/${forward}/file`, { file: { maxSize: '1MB', types: ['audio/wav'], forward } }),
  route(`/v1/${forward}/slow`, { upload: { files, timeout: '300ms', forward } }),
]);
routes.push(route('/v1/any', { any: { maxSize: '1MB' } }));
const gateway = await startGateway(scene, { routes, spool: { disk: '12MB' } }, { upstream: upstream.url });

function route(path: string, body: object) {
  return { path, methods: ['POST', 'PUT'], body };
}

const sound = wav(300_000);
const good: Part = { name: 'file', fileName: 'a.wav', type: 'audio/wav', data: sound };
const note: Part = { name: 'note', data: 'hello' };
const text = Buffer.from('not a sound, just text\n'.repeat(20_000));

/** Bodies that are in order until their end, so that a stream of them is well under way when the fault comes. */
const forms: Readonly<Record<string, { body: Buffer; status: number; refusal: string; says?: string }>> = {
  'no file at all': { body: formBody([note]), status: 400, refusal: 'file_missing', says: 'file is missing' },
  'an empty file': {
    body: formBody([{ ...good, data: '' }]),
    status: 400,
    refusal: 'file_missing',
    says: 'file is empty',
  },
  'an empty file name': {
    body: formBody([{ ...good, fileName: '' }]),
    status: 400,
    refusal: 'file_missing',
  },
  'text as a sound': {
    body: formBody([{ ...good, data: text }]),
    status: 415,
    refusal: 'file_unsupported',
    says: 'file must be audio/wav',
  },
  'a sound under another type': {
    body: formBody([{ ...good, type: 'image/png' }]),
    status: 415,
    refusal: 'file_unsupported',
  },
  'a sound under another extension': {
    body: formBody([{ ...good, fileName: 'a.png' }]),
    status: 415,
    refusal: 'file_unsupported',
  },
  'a path as a file name': {
    body: formBody([{ ...good, fileName: '../a.wav' }]),
    status: 415,
    refusal: 'file_unsupported',
  },
  'a file that is too large': {
    body: formBody([{ ...good, data: wav(1024 * 1024) }]),
    status: 413,
    refusal: 'file_too_large',
    says: 'file must be at most 1 MB',
  },
  'a second file that is too large': {
    body: formBody([good, { ...good, data: wav(1024 * 1024) }]),
    status: 413,
    refusal: 'file_too_large',
  },
  'a second file that is text': {
    body: formBody([good, { ...good, data: text }]),
    status: 415,
    refusal: 'file_unsupported',
  },
  'too many files': { body: formBody([good, good, good]), status: 400, refusal: 'body_invalid' },
  'a file nobody asked for': {
    body: formBody([good, { ...good, name: 'other' }]),
    status: 400,
    refusal: 'body_invalid',
    says: 'Files are taken only as file',
  },
  'a field nobody asked for': {
    body: formBody([good, { name: 'x', data: '1' }]),
    status: 400,
    refusal: 'body_invalid',
  },
  'a field that is too large': {
    body: formBody([good, { name: 'note', data: 'x'.repeat(1025) }]),
    status: 413,
    refusal: 'body_too_large',
  },
  'too many fields': { body: formBody([good, note, note, note]), status: 400, refusal: 'body_invalid' },
  'a field against its schema': {
    body: formBody([good, { name: 'kind', data: 'c' }]),
    status: 400,
    refusal: 'body_invalid',
  },
  'a file in the place of a field': {
    body: formBody([good, { name: 'note', fileName: 'n.wav', type: 'audio/wav', data: sound }]),
    status: 400,
    refusal: 'body_invalid',
  },
  'no end': {
    body: formBody([good]).subarray(0, -4),
    status: 400,
    refusal: 'file_ambiguous',
  },
  'half a delimiter': {
    body: formBody([good]).subarray(0, -30),
    status: 400,
    refusal: 'file_ambiguous',
  },
  'something after the end': {
    body: Buffer.concat([formBody([good]), formBody([good])]),
    status: 400,
    refusal: 'file_ambiguous',
  },
  'something before the beginning': {
    body: Buffer.concat([Buffer.from('\r\n'), formBody([good])]),
    status: 400,
    refusal: 'file_ambiguous',
  },
  'its boundary inside a file': {
    body: formBody([{ ...good, data: Buffer.concat([sound, Buffer.from(`--${boundary}x`), sound]) }]),
    status: 400,
    refusal: 'file_ambiguous',
  },
  ...Object.fromEntries(
    Object.entries({
      'filename and filename*': `Content-Disposition: form-data; name="file"; filename="a.wav"; filename*=UTF-8''b.exe`,
      'two file names': 'Content-Disposition: form-data; name="file"; filename="a.wav"; filename="b.exe"',
      'two dispositions':
        'Content-Disposition: form-data; name="file"; filename="a.wav"\r\nContent-Disposition: form-data; name="x"',
      'two types':
        'Content-Disposition: form-data; name="file"; filename="a.wav"\r\nContent-Type: audio/wav\r\nContent-Type: text/html',
      'a folded header': 'Content-Disposition: form-data;\r\n name="file"; filename="a.wav"',
      'a bare line feed':
        'Content-Disposition: form-data; name="file"; filename="a.wav"\nContent-Type: audio/wav',
      'a NUL': 'Content-Disposition: form-data; name="file"; filename="a.wav\0.exe"',
      'a transfer encoding':
        'Content-Disposition: form-data; name="file"; filename="a.wav"\r\nContent-Transfer-Encoding: base64',
      'a form in a form':
        'Content-Disposition: form-data; name="file"; filename="a.wav"\r\nContent-Type: multipart/mixed; boundary=x',
      'a space before the colon': 'Content-Disposition : form-data; name="file"; filename="a.wav"',
      'an attachment': 'Content-Disposition: attachment; name="file"; filename="a.wav"',
      'headers without end': `Content-Disposition: form-data; name="file"; filename="a.wav"\r\nX-Long: ${'x'.repeat(5000)}`,
    }).map(([name, headers]) => [
      `a second part with ${name}`,
      { body: formBody([good, { headers, data: sound }]), status: 400, refusal: 'file_ambiguous' },
    ]),
  ),
};

for (const way of ways) {
  for (const framing of ['declared', 'chunked'] as const satisfies readonly Framing[]) {
    test(`${way}, ${framing}: a refused form is never complete at the upstream`, async (t) => {
      for (const [name, { body, status, refusal, says }] of Object.entries(forms)) {
        const before = upstream.requests.length;
        const answer = await answerTo(t, gateway.port, { path: `/v1/${way}/form`, body, framing });
        assert.equal(answer.headers['x-gatehouse-refusal'], refusal, `${name}: ${answer.text}`);
        assert.equal(answer.status, status, name);
        if (says !== undefined) assert.deepEqual(JSON.parse(answer.text), { error: says }, name);
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

    test(`${way}, ${framing}: a bare file is held to its rule`, async (t) => {
      const path = `/v1/${way}/file`;
      const cases = [
        { body: sound, contentType: 'audio/x-wav', status: 200 },
        { body: sound, contentType: 'audio/mpeg', status: 415 },
        { body: text, contentType: 'audio/wav', status: 415 },
        { body: wav(1024 * 1024), contentType: 'audio/wav', status: 413 },
        { body: Buffer.alloc(0), contentType: 'audio/wav', status: 400 },
      ];
      for (const { status, ...upload } of cases) {
        const before = upstream.requests.length;
        const answer = await answerTo(t, gateway.port, { path, framing, method: 'PUT', ...upload });
        assert.equal(answer.status, status, answer.text);
        const seen = upstream.requests.slice(before);
        if (status === 200) assert.ok(seen[0]?.body.equals(upload.body));
        else assert.ok(seen.every(({ complete }) => !complete));
      }
    });
  }

  test(`${way}: what arrives too slowly is refused by the route's own time`, async (t) => {
    const raw = await openRaw(t, gateway.port);
    const { head, body } = uploadBytes({ path: `/v1/${way}/slow`, body: formBody([good]) });
    raw.write(Buffer.concat([head, body.subarray(0, 200_000)]));
    const [answer] = await raw.responses(1);
    assert.equal(answer?.status, 408);
    assert.deepEqual(JSON.parse(answer.text), { error: 'The request body must arrive within 0.3 s' });
    assert.ok(upstream.requests.every(({ target, complete }) => !target.endsWith('/slow') || !complete));
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
  const early: readonly (Partial<Upload> & { name: string; status: number })[] = [
    { name: 'too large a length', body: large, status: 413 },
    { name: 'another content type', contentType: 'application/json', status: 415 },
    { name: 'two boundaries', contentType: `${formType}; boundary=x`, status: 400 },
    { name: 'no boundary', contentType: 'multipart/form-data', status: 400 },
    { name: 'a compressed body', headers: [['Content-Encoding', 'gzip']], status: 415 },
    { name: 'no body', body: Buffer.alloc(0), status: 400 },
  ];
  for (const { name, status, ...upload } of early) {
    test(`${name} is refused without "100 Continue" and without a byte of the body`, async (t) => {
      const raw = await openRaw(t, gateway.port);
      const headers = [...(upload.headers ?? []), ['Expect', '100-continue'] as const];
      const order: Upload = { path: '/v1/stream/form', body: formBody([good]), ...upload, headers };
      raw.write(uploadBytes(order).head);
      const [answer] = await raw.responses(1);
      assert.equal(answer?.status, status);
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
  const { head, body } = uploadBytes({ path: '/v1/stream/form', body: forms['too many fields']!.body });
  raw.write(Buffer.concat([head, body.subarray(0, 200_000)]));
  await raw.receivedUntil((bytes) => bytes.toString().endsWith('part'));
  raw.write(body.subarray(200_000));
  await raw.receivedUntilClose();
  const [answer] = await raw.responses(1);
  assert.equal(answer?.complete, false);
});

test('a client that is still sending gets to read that its body is too large', async (t) => {
  const body = formBody([{ ...good, data: wav(8 * 1024 * 1024) }]);
  for (const way of ways) {
    const raw = await sendUpload(t, gateway.port, { path: `/v1/${way}/form`, body, framing: 'chunked' });
    const [answer] = await raw.responses(1);
    assert.equal(answer?.status, 413);
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
    assert.equal(answer?.status, 401);
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

test('any: a body that turns out too large is never complete at the upstream', async (t) => {
  const body = Buffer.alloc(2 * 1024 * 1024, 'x');
  const contentType = 'application/octet-stream';
  const upload = { path: '/v1/any', body, contentType };
  const before = upstream.requests.length;
  assert.equal((await answerTo(t, gateway.port, upload)).status, 413);
  assert.equal(upstream.requests.length, before);
  assert.equal((await answerTo(t, gateway.port, { ...upload, framing: 'chunked' })).status, 413);
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
  // Six fit.
  const uploads = await Promise.all(
    Array.from({ length: 8 }, async () => {
      const raw = await openRaw(t, gateway.port);
      raw.write(Buffer.concat([head, body.subarray(0, -10)]));
      return raw;
    }),
  );
  await until(() => uploads.filter((raw) => raw.received().length > 0).length >= 2);
  for (const raw of uploads) raw.write(body.subarray(-10));
  const answers = await Promise.all(uploads.map(async (raw) => (await raw.responses(1))[0]));
  const refused = answers.filter((answer) => answer?.status === 503);
  assert.deepEqual(
    refused.map((answer) => answer?.headers['x-gatehouse-refusal']),
    ['spool_full', 'spool_full'],
  );
  assert.equal(answers.filter((answer) => answer?.status === 200).length, 6);
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
