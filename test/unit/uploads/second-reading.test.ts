import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { createSecondReading, type PartFact } from '../../../src/uploads/second-reading.ts';
import { boundary, chunksOf, formBody } from '../../helpers/form-body.ts';

const body = formBody([
  { name: 'note', data: 'hello' },
  { name: 'file', fileName: 'a/b.wav', type: 'audio/wav', data: Buffer.alloc(2000) },
]);
const note: PartFact = { kind: 'field', name: 'note', fileName: undefined, type: 'text/plain', bytes: 5 };
const file: PartFact = { kind: 'file', name: 'file', fileName: 'a/b.wav', type: 'audio/wav', bytes: 2000 };

describe('the second reading', () => {
  for (const size of [1, 1000, 65_536, 1_000_000]) {
    it(`agrees with the truth, in chunks of ${size}`, async () => {
      await read(body, [note, file], size);
    });
  }

  const wrong: Readonly<Record<string, readonly PartFact[]>> = {
    'a missing part': [note],
    'a part too many': [note, file, note],
    'another order': [file, note],
    'another name': [{ ...note, name: 'nope' }, file],
    'another file name': [note, { ...file, fileName: 'b.wav' }],
    'another kind': [{ ...note, kind: 'file' }, file],
    'another type': [note, { ...file, type: 'audio/mpeg' }],
    'another size': [note, { ...file, bytes: 1999 }],
    'another size of a field': [{ ...note, bytes: 6 }, file],
  };
  for (const [name, facts] of Object.entries(wrong)) {
    it(`refuses ${name}`, async () => {
      await assert.rejects(read(body, facts), { code: 'file_ambiguous' });
    });
  }

  const broken: Readonly<Record<string, Buffer>> = {
    'an empty body': Buffer.alloc(0),
    'a body without a boundary': Buffer.from('nothing of the kind'),
    'a body cut off in its headers': body.subarray(0, 60),
    'a body cut off in a file': body.subarray(0, 1000),
    'a body cut off in its last delimiter': body.subarray(0, -5),
  };
  for (const [name, bytes] of Object.entries(broken)) {
    it(`ends with a refusal after ${name}`, async () => {
      await assert.rejects(read(bytes, [note, file]), { code: 'file_ambiguous' });
    });
  }

  it('waits for a chunk that the parser still holds, and in the midst of a file for no other', async () => {
    const second = await createSecondReading(boundary);
    const part = { name: 'file', fileName: 'a.wav', type: 'audio/wav', data: 'RIFF' };
    const start = formBody([part]).subarray(0, -`\r\n--${boundary}--\r\n`.length);
    const begun = second.write(start);
    const held = second.write(Buffer.alloc(65_536));
    assert.notEqual(held, undefined);
    await Promise.all([begun, held]);
    assert.equal(second.write(Buffer.alloc(65_536)), undefined);
  });

  it('refuses a part that only it has found before more of that can go on', async () => {
    const second = await createSecondReading(boundary);
    const end = `\r\n--${boundary}--\r\n`;
    const smuggled = formBody([
      { name: 'file', fileName: 'a.wav', type: 'audio/wav', data: 'RIFF' },
      { name: 'more', fileName: 'a.exe', type: 'audio/wav', data: 'MZ' },
    ]);
    await assert.rejects(Promise.resolve(second.write(smuggled.subarray(0, -end.length))), {
      code: 'file_ambiguous',
    });
  });

  it('refuses a part that only the first reading has found before the next ends', async () => {
    const second = await createSecondReading(boundary);
    for (let part = 0; part < 3; part += 1) second.expect(note);
    await assert.rejects(Promise.resolve(second.write(body.subarray(0, 20))), { code: 'file_ambiguous' });
  });
});

/** Tells of each part with the chunk in which one ends, and of parts too many with the last chunk. */
async function read(bytes: Buffer, facts: readonly PartFact[], size = 65_536): Promise<void> {
  const second = await createSecondReading(boundary);
  const delimiter = `\r\n--${boundary}`;
  const ends: number[] = [];
  for (let at = bytes.indexOf(delimiter); at !== -1; at = bytes.indexOf(delimiter, at + 1)) {
    ends.push(at + delimiter.length);
  }
  let written = 0;
  let told = 0;
  for await (const chunk of chunksOf(bytes, size)) {
    written += chunk.length;
    for (; told < facts.length && written >= (ends[told] ?? bytes.length); told += 1) {
      second.expect(facts[told]!);
    }
    await second.write(chunk);
  }
  await second.end();
}
