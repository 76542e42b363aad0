import assert from 'node:assert/strict';
import { isUtf8 } from 'node:buffer';
import { describe, it } from 'node:test';
import * as fc from 'fast-check';
import { Refusal } from '../../../src/refusals.ts';
import { checkFileName } from '../../../src/uploads/check-file-name.ts';
import { readBoundary } from '../../../src/uploads/read-boundary.ts';
import { MultipartReader } from '../../../src/uploads/read-multipart.ts';
import { boundary, formBody, type Part } from '../../helpers/form-body.ts';
import { otherParsers, type OtherPart } from '../../helpers/other-parsers.ts';

// How many bodies each property tries; raise it for a long run.
const numRuns = Number(process.env['GATEHOUSE_TEST_RUNS'] ?? 250);
/** Also such as look like the end of themselves. */
const marks = [boundary, 'X--', '--X', '+a.b_', '0'];

const fileRule = {
  required: false,
  countMax: 9,
  sizeMax: 9999,
  sizeMin: 0,
  types: undefined,
  extensions: undefined,
  nameLengthMax: 255,
};

const text = fc.oneof(
  fc.string(),
  fc.string({ unit: 'grapheme' }),
  fc.constantFrom('', '\r\n', '--', `\r\n-${boundary}`),
);
const name = fc.oneof(
  fc.constantFrom('file', 'note', 'a[b]', 'tags[]', 'a.b', 'Äpfel', "it's"),
  fc.string({ minLength: 1, maxLength: 12 }),
  fc.string({ unit: 'grapheme', minLength: 1, maxLength: 6 }),
);
const fileName = fc.oneof(
  fc.constantFrom('a.wav', 'b c.mp3', 'Änne.ogg', '김.flac', 'a;b.wav', "o'k & so.wav", '50%.wav'),
  name,
);
const data = fc.oneof(
  fc.uint8Array({ maxLength: 200 }).map((bytes) => Buffer.from(bytes)),
  text.map((value) => Buffer.from(value)),
);
const part: fc.Arbitrary<Part> = fc.oneof(
  fc.record({ name, data: text.map((value) => Buffer.from(value)) }),
  fc.record({ name, fileName, data }),
  fc.record({
    name,
    fileName,
    type: fc.constantFrom(
      'audio/wav\r\nContent-Transfer-Encoding: binary',
      'audio/wav\r\nContent-Transfer-Encoding: 8bit',
    ),
    data,
  }),
  fc.record({
    name,
    fileName,
    type: fc.constantFrom(
      'audio/wav',
      'text/plain',
      'application/octet-stream',
      'audio/webm;codecs=opus',
      'Text/CSV; charset="utf-8"',
      'audio/x-wav; charset=binary',
    ),
    data,
  }),
);
const form = fc.array(part, { minLength: 1, maxLength: 4 });

const token = fc.constantFrom(
  '\r\n',
  '\r',
  '\n',
  '\0',
  ' ',
  '\t',
  '"',
  '\\',
  ';',
  ':',
  '=',
  '*',
  '-',
  '--',
  '%22',
  '%0d%0a',
  '&#0065;',
  '\u202e',
  '\xff',
  '\r\n\r\n',
  `--${boundary}`,
  `\r\n--${boundary}`,
  `\r\n--${boundary}--`,
  `\n--${boundary}\n`,
  `--${boundary}--\r\n`,
  '; filename="x"',
  "; filename*=UTF-8''x",
  '; name="y"',
  'filename=',
  'name=',
  'Content-Disposition: form-data; name="z"\r\n',
  '\r\nContent-Type: text/html',
  '\r\nContent-Transfer-Encoding: base64',
  '\r\nContent-Transfer-Encoding: binary',
  '\r\nContent-Transfer-Encoding: 8bit',
  '\r\nContent-Length: 3',
  '\r\n folded',
  '\r\nX: y',
);
const mutation = fc.record({
  at: fc.nat(),
  remove: fc.nat({ max: 3 }),
  insert: fc.oneof(token, fc.constant('')),
});

describe('what the canonical reader accepts, every parser reads alike', () => {
  it('for forms of any names, types and content, with and without an empty line after the end', async () => {
    await fc.assert(
      fc.asyncProperty(
        form,
        fc.constantFrom('', '\r\n'),
        fc.constantFrom(...marks),
        async (parts, end, mark) => {
          await compare(Buffer.concat([formBody(parts, mark), Buffer.from(end)]), mark);
        },
      ),
      { numRuns: numRuns * 2 },
    );
  });

  it('for forms with a few changes anywhere', async () => {
    let accepted = 0;
    await fc.assert(
      fc.asyncProperty(form, fc.array(mutation, { minLength: 1, maxLength: 3 }), async (parts, mutations) => {
        if (await compare(mutations.reduce(mutate, formBody(parts)))) accepted += 1;
      }),
      { numRuns: numRuns * 2 },
    );
    assert.ok(accepted > numRuns / 20, `only ${accepted} changed bodies were still canonical`);
  });

  it('for a form cut off anywhere', async () => {
    const whole = formBody([
      { name: 'note', data: 'hello' },
      { name: 'file', fileName: 'a.wav', type: 'audio/wav', data: 'data' },
    ]);
    for (let end = 0; end <= whole.length; end += 1) {
      assert.equal(
        await compare(whole.subarray(0, end)),
        end >= whole.length - 2 && end !== whole.length - 1,
      );
    }
  });
});

/** Compares every parser with the reader, if the reader accepts the body. */
async function compare(body: Buffer, mark = boundary): Promise<boolean> {
  const expected = read(body, mark);
  if (!expected) return false;
  const contentType = `multipart/form-data; boundary=${mark}`;
  assert.equal(readBoundary(contentType), mark);
  for (const [parserName, parse] of Object.entries(otherParsers)) {
    const skipsFiles = parserName.startsWith('formidable');
    if (skipsFiles && expected.some((each) => isFileByNameAlone(each) && !isUtf8(each.data))) continue;
    // The runtime finds a form broken that holds the boundary without its dashes; it does not read it differently.
    if (parserName.startsWith('FormData') && expected.some(({ data: bytes }) => bytes.includes(mark)))
      continue;
    const found = await parse(contentType, body);
    const wanted: OtherPart[] = expected.map((each): OtherPart => {
      return skipsFiles && isFileByNameAlone(each) ? { ...each, kind: 'field', fileName: undefined } : each;
    });
    assert.deepEqual(found.map(comparable).toSorted(), wanted.map(comparable).toSorted(), parserName);
  }
  return true;
}

/** Undefined when the reader refuses, or when a text field is one that the form check refuses. */
function read(body: Buffer, mark: string): OtherPart[] | undefined {
  const parts: OtherPart[] = [];
  const reader = new MultipartReader(mark, {
    partBegins: ({ name: found, fileName: file, type }) => {
      parts.push({
        kind: file === undefined ? 'field' : 'file',
        name: found,
        fileName: file,
        type,
        data: Buffer.alloc(0),
      });
    },
    partData: (bytes) => {
      const last = parts.pop();
      assert.ok(last);
      parts.push({ ...last, data: Buffer.concat([last.data, bytes]) });
    },
    partEnds: () => {},
  });
  try {
    reader.write(body);
    reader.end();
    for (const { fileName: file } of parts) if (file !== undefined) checkFileName(file, 'file', fileRule);
  } catch (error) {
    assert.ok(error instanceof Refusal, String(error));
    return undefined;
  }
  return parts.length > 0 && parts.every(isReadable) ? parts : undefined;
}

/** What the form check takes from a text field. */
function isReadable({ kind, data: bytes }: OtherPart): boolean {
  return kind === 'file' || (isUtf8(bytes) && !bytes.includes(0) && !bytes.toString().startsWith('\ufeff'));
}

/**
 * formidable takes a part for a file by its content type: a file without one becomes a text field there. It is let through in a
 * field that is meant for files alone.
 */
function isFileByNameAlone({ kind, type }: OtherPart): boolean {
  return kind === 'file' && type === undefined;
}

function comparable({ kind, name: found, fileName: file, type, data: bytes }: OtherPart): string {
  const essence = type?.split(';', 1)[0]?.toLowerCase() ?? 'text/plain';
  return JSON.stringify([kind, found, file, kind === 'file' ? essence : '', bytes.toString('latin1')]);
}

function mutate(
  body: Buffer,
  { at, remove, insert }: { at: number; remove: number; insert: string },
): Buffer {
  const place = at % (body.length + 1);
  return Buffer.concat([body.subarray(0, place), Buffer.from(insert), body.subarray(place + remove)]);
}
