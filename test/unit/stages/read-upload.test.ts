import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { BareFileRule } from '../../../src/config/upload-rule.ts';
import type { Head } from '../../../src/stages/check-request.ts';
import { readUpload } from '../../../src/stages/read-upload.ts';
import { createSpoolRoom } from '../../../src/uploads/spool.ts';
import { chunksOf } from '../../helpers/form-body.ts';
import { samples } from '../../helpers/sample-files.ts';

for (const forward of ['whole', 'stream'] as const) {
  test(`what is held of an upload, forwarded as ${forward}, is given back once, however often it is released`, async () => {
    const rule: BareFileRule = { kind: 'file', sizeMax: 10_000, sizeMin: 1, types: ['audio/wav'], forward };
    const head = { contentType: 'audio/wav', contentLength: samples.wav.length } as Head;
    const spools = createSpoolRoom({ memoryEachMax: 10_000, memoryMax: 10_000, diskMax: 0, directory: '' });
    let stops = 0;
    let releases = 0;
    const body = await readUpload(
      { chunks: chunksOf(samples.wav), stop: () => (stops += 1) },
      { head, rule, spools, released: () => (releases += 1) },
    );
    assert.equal(releases, 0);
    await body.release();
    await body.release();
    assert.equal(releases, 1);
    // The rest of what streams is no longer waited for.
    assert.equal(stops, forward === 'stream' ? 1 : 0);
    assert.equal(spools.memoryBytes(), 0);
  });
}
