import assert from 'node:assert/strict';
import { test, type TestContext } from 'node:test';
import { guessByName } from '../../../examples/recognition/names.ts';
import { createRecognition } from '../../../examples/recognition/server.ts';
import { listen } from '../../helpers/listen.ts';
import { exchange, requestBytes } from '../../helpers/raw-socket.ts';
import { encodeWav, tone } from '../../helpers/wav.ts';

const names: readonly { given: string; guess: string }[] = [
  { given: 'Mary', guess: 'female' },
  { given: '  jAMES ', guess: 'male' },
  { given: 'José', guess: 'male' },
  { given: 'Anna-Maria', guess: 'female' },
  { given: 'Anna Maria', guess: 'female' },
  { given: 'Xqzt', guess: 'unknown' },
  { given: '', guess: 'unknown' },
  { given: 'constructor', guess: 'unknown' },
];

for (const { given, guess } of names) {
  test(`the name ${JSON.stringify(given)} is guessed ${guess}`, () => {
    assert.equal(guessByName(given).guess, guess);
  });
}

test('a guess comes with its share and with the count behind it', () => {
  const { probability, count } = guessByName('Jessie');
  assert.ok(probability && probability > 0.5 && probability < 0.7);
  assert.ok(count > 200_000);
  assert.deepEqual(guessByName('Xqzt'), { guess: 'unknown', probability: null, count: 0 });
});

const namePath = '/v1/voice-gender-recognition/api/name';
const voicePath = '/v1/voice-gender-recognition/api/voice';
const wav = encodeWav(tone(220));

const form = (field: string, content: Buffer): FormData => {
  const data = new FormData();
  data.append('note', 'from a test');
  data.append(field, new Blob([new Uint8Array(content)], { type: 'audio/wav' }), 'voice.wav');
  return data;
};

const calls: readonly { name: string; path: string; init?: RequestInit; status: number; body: object }[] = [
  { name: 'health', path: '/healthz', status: 200, body: { status: 'ok' } },
  { name: 'an unknown path', path: '/nowhere', status: 404, body: { error: 'Not found' } },
  {
    name: 'a name',
    path: namePath,
    init: { method: 'POST', body: JSON.stringify({ firstName: 'Ada', lastName: 'Lovelace' }) },
    status: 200,
    body: { guess: 'female', probability: 1, count: 90_000 },
  },
  {
    name: 'a name that is no string',
    path: namePath,
    init: { method: 'POST', body: JSON.stringify({ firstName: 1, lastName: 'Lovelace' }) },
    status: 400,
    body: { error: 'firstName and lastName must be strings' },
  },
  {
    name: 'JSON that is no object',
    path: namePath,
    init: { method: 'POST', body: 'null' },
    status: 400,
    body: { error: 'The body must be a JSON object' },
  },
  {
    name: 'a voice as a whole body',
    path: voicePath,
    init: { method: 'POST', headers: { 'content-type': 'audio/wav' }, body: new Uint8Array(wav) },
    status: 200,
    body: { fundamentalHz: 220, durationSeconds: 0.5, guess: 'female', probability: 0.975 },
  },
  {
    name: 'a voice in a form',
    path: voicePath,
    init: { method: 'POST', body: form('file', wav) },
    status: 200,
    body: { fundamentalHz: 220, durationSeconds: 0.5, guess: 'female', probability: 0.975 },
  },
  {
    name: 'a form without the file',
    path: voicePath,
    init: { method: 'POST', body: form('other', wav) },
    status: 400,
    body: { error: 'The form field "file" is missing or empty' },
  },
  {
    name: 'a form that ends too early',
    path: voicePath,
    init: {
      method: 'POST',
      headers: { 'content-type': 'multipart/form-data; boundary=b' },
      body: '--b\r\nContent-Dis',
    },
    status: 400,
    body: { error: 'The form is malformed' },
  },
  {
    name: 'a form without a boundary',
    path: voicePath,
    init: { method: 'POST', headers: { 'content-type': 'multipart/form-data; x=y' }, body: 'x' },
    status: 400,
    body: { error: 'The form is malformed' },
  },
  {
    name: 'a file that is no WAV',
    path: voicePath,
    init: { method: 'POST', body: form('file', Buffer.from('ID3 nonsense')) },
    status: 415,
    body: { error: 'Only WAV files are understood' },
  },
  {
    name: 'another content type',
    path: voicePath,
    init: { method: 'POST', headers: { 'content-type': 'text/plain' }, body: 'x' },
    status: 415,
    body: { error: 'Send a WAV file, as multipart/form-data or as audio/wav' },
  },
];

for (const { name, path, init, status, body } of calls) {
  test(`the example upstream answers ${status}: ${name}`, async (t) => {
    const answer = await fetch((await startRecognition(t)) + path, init);
    assert.deepEqual([answer.status, await answer.json()], [status, body]);
  });
}

test('a body that is too large is answered while it still arrives', async (t) => {
  const { port } = new URL(await startRecognition(t));
  const framing = [['Content-Length', '1000000']] as const;
  const answer = await exchange(
    t,
    Number(port),
    requestBytes(`POST ${namePath}`, framing, 'x'.repeat(17_000)),
  );
  assert.equal(answer.status, 413);
  assert.equal(answer.headers['connection'], 'close');
  assert.equal(answer.text, '{"error":"The request body is too large"}');
});

async function startRecognition(t: TestContext): Promise<string> {
  const server = createRecognition();
  t.after(() => server.closeAllConnections());
  return `http://127.0.0.1:${await listen(t, server)}`;
}
