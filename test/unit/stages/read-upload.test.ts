import assert from 'node:assert/strict';
import { test } from 'node:test';
import { fieldsHeldMax } from '../../../src/config/held-bytes.ts';
import type { BareFileRule, FormRule } from '../../../src/config/upload-rule.ts';
import type { Head } from '../../../src/stages/check-request.ts';
import { heldBytesMax, readUpload, requireUploadHead } from '../../../src/stages/read-upload.ts';
import { createSpoolRoom } from '../../../src/uploads/spool.ts';
import { chunksOf } from '../../helpers/form-body.ts';
import { samples } from '../../helpers/sample-files.ts';

for (const [forward, when] of [
  ['whole', 'once all of it has passed'],
  ['stream', 'when it is released'],
] as const) {
  test(`what is held of the text fields of an upload, forwarded as ${forward}, is given back ${when}`, async () => {
    const rule: BareFileRule = { kind: 'file', sizeMax: 10_000, sizeMin: 1, types: ['audio/wav'], forward };
    const head = { contentType: 'audio/wav', contentLength: samples.wav.length } as Head;
    // One that waits is held only for the length that it declares.
    const room = { pieceMax: 0, wholeMax: 10_000, memoryMax: 10_000, diskMax: 0, directory: '' };
    const spools = createSpoolRoom(room);
    let stops = 0;
    let releases = 0;
    const body = await readUpload(Object.assign(chunksOf(samples.wav), { stop: () => (stops += 1) }), {
      head,
      rule,
      spools,
      visit: { mismatch: undefined },
      released: () => (releases += 1),
    });
    assert.equal(releases, forward === 'whole' ? 1 : 0);
    await body.release();
    assert.equal(releases, 1);
    // The rest of what streams is no longer waited for.
    assert.equal(stops, forward === 'stream' ? 1 : 0);
    assert.equal(spools.memoryBytes(), 0);
  });
}

test('an upload that is refused at its end leaves its room to others', async () => {
  const rule: BareFileRule = {
    kind: 'file',
    sizeMax: 10_000,
    sizeMin: 5000,
    types: undefined,
    forward: 'whole',
  };
  const head = { contentType: undefined, contentLength: undefined } as Head;
  const room = { pieceMax: 10_000, wholeMax: 10_000, memoryMax: 10_000, diskMax: 0, directory: '' };
  const spools = createSpoolRoom(room);
  const upload = Object.assign(chunksOf(Buffer.alloc(3000), 1000), { stop: () => undefined });
  const order = { head, rule, spools, visit: { mismatch: undefined }, released: () => undefined };
  await assert.rejects(readUpload(upload, order), { code: 'body_invalid' });
  assert.equal(spools.memoryBytes(), 0);
});

test('of an empty form the first file that it must have is said to be missing', () => {
  const file = { required: true, countMax: 1, sizeMax: 9, sizeMin: 1, types: undefined };
  const files = new Map([
    ['note', { ...file, required: false }],
    ['sound', file],
  ]);
  const head = { contentType: 'multipart/form-data; boundary=x', contentLength: 0 } as Head;
  for (const [rule, message] of [
    [{ kind: 'form', files }, 'sound is missing'],
    [{ kind: 'form', files: new Map() }, 'The form is missing'],
    [{ kind: 'file' }, 'The file is missing'],
  ] as const)
    assert.throws(() => requireUploadHead(head, rule as unknown as FormRule), {
      code: 'file_missing',
      message,
    });
});

test('of an upload its text fields alone are held in memory, and they are no more than all of it', () => {
  const file: BareFileRule = { kind: 'file', sizeMax: 1e7, sizeMin: 1, types: undefined, forward: 'whole' };
  const form: FormRule = {
    kind: 'form',
    sizeMax: 1e7,
    files: new Map(),
    fields: { countMax: 2, sizeMax: 100, names: undefined, schema: undefined },
    others: 'allow',
    forward: 'whole',
  };
  assert.equal(heldBytesMax(file, 1e7), 0);
  for (const contentLength of [1e7, undefined]) {
    assert.equal(heldBytesMax(form, contentLength), fieldsHeldMax({ countMax: 2, sizeMax: 100 }, Infinity));
  }
  assert.equal(heldBytesMax(form, 500), 500);
  assert.equal(heldBytesMax({ ...form, sizeMax: 400 }, undefined), 400);
});
