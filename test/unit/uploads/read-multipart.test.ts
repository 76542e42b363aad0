import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import * as fc from 'fast-check';
import { Refusal } from '../../../src/refusals.ts';
import { readBoundary } from '../../../src/uploads/read-boundary.ts';
import { MultipartReader } from '../../../src/uploads/read-multipart.ts';
import { formBody } from '../../helpers/form-body.ts';

const head = 'Content-Disposition: form-data; name="file"; filename="a.wav"\r\nContent-Type: audio/wav';
const [disposition = '', audioType = ''] = head.split('\r\n');
const lowerCase = 'content-disposition: form-data; name="note"';

/** A body with boundary B whose single part has these header lines. */
const withHeaders = (lines: string): string => `--B\r\n${lines}\r\n\r\ndata\r\n--B--\r\n`;
/** The same for a file with this disposition. */
const withDisposition = (line: string): string => withHeaders(`${line}\r\n${audioType}`);
/** The same for a file of this type. */
const withType = (type: string): string => withHeaders(`${disposition}\r\nContent-Type: ${type}`);
const withFileName = (name: string): string =>
  withDisposition(`Content-Disposition: form-data; name="f"; filename="${name}"`);
const withName = (name: string): string => withHeaders(`Content-Disposition: form-data; name="${name}"`);
const withContent = (content: string): string => `--B\r\n${head}\r\n\r\n${content}\r\n--B--\r\n`;

/** With the empty line behind them so many bytes. */
function longHeaders(bytes: number): string {
  const begin = `${disposition}\r\nContent-Type: audio/wav; x=`;
  return withHeaders(`${begin}${'y'.repeat(bytes - 4 - begin.length)}`);
}

const accepted: Readonly<Record<string, string>> = {
  'a file': withHeaders(head),
  'a file without a content type': withHeaders(disposition),
  'the longest content type': withType(`${'t'.repeat(127)}/${'s'.repeat(127)}`),
  'a text field': withHeaders('Content-Disposition: form-data; name="a"'),
  'an empty part': `--B\r\n${head}\r\n\r\n\r\n--B--\r\n`,
  'no line break after the end': `--B\r\n${head}\r\n\r\ndata\r\n--B--`,
  "an empty line after the end, as Node's form-data-encoder and so got write it": `${withHeaders(head)}\r\n`,
  'two parts': `--B\r\n${head}\r\n\r\n1\r\n--B\r\n${head}\r\n\r\n2\r\n--B--\r\n`,
  'header names in lower case': withHeaders(head.toLowerCase().replace('a.wav', 'A.wav')),
  'every header name in lower case': `--B\r\n${head.toLowerCase()}\r\n\r\n1\r\n--B\r\n${head.toLowerCase()}\r\n\r\n2\r\n--B--\r\n`,
  'the content type alone in lower case': withHeaders(head.replace('Content-Type', 'content-type')),
  'the content type first': withHeaders(head.split('\r\n').toReversed().join('\r\n')),
  'a type of all characters that one may have': withType('a!#$&^_.+-1/b!#$&^_.+-1'),
  'a type with parameters': withType('audio/webm;codecs=opus'),
  'a type with a quoted parameter': withType('audio/webm; codecs="opus,vp8"'),
  'the charset that file --mime and PHP declare for bytes': withType('audio/x-wav; charset=binary'),
  'a binary transfer encoding': withHeaders(`${head}\r\nContent-Transfer-Encoding: binary`),
  'what Symfony writes': withHeaders(
    `Content-Type: audio/wav\r\nContent-Transfer-Encoding: 8bit\r\n${disposition}`,
  ),
  'a true Content-Length in a part': withHeaders(`${head}\r\nContent-Length: 4`),
  'a Content-Length in some parts': `--B\r\n${head}\r\nContent-Length: 1\r\n\r\n1\r\n--B\r\n${head}\r\nContent-Length: 2\r\n\r\n22\r\n--B\r\n${head}\r\n\r\n333\r\n--B--\r\n`,
  'file name with spaces, semicolons and other scripts': withFileName('a b; Änne 김 (1) 100%.wav'),
  'an ampersand in a file name': withFileName('R&B & soul, by Smith&Ltd.wav'),
  'the longest name': withName('n'.repeat(256)),
  'a field name with brackets': withName('tags[0].name[]'),
  'the longest headers': longHeaders(1024),
  'content with CRLF, LF and CR': withContent('\r\n\n\r\r\n\r\n\r\n-\r\n--\r\n'),
  'content that nearly is the boundary': withContent('\r\n-B\r\n--\r\nB--A'),
};

const escapes = '%2E %2e &Tab; &frac12; &lt &LT &gt &GT &quot &QUOT &nbsp &shy'.split(' ');

const ambiguous: Readonly<Record<string, string>> = {
  ...Object.fromEntries(escapes.map((each) => [`${each} in a file name`, withFileName(`a${each}b.wav`)])),
  'nothing at all': '',
  'a body without its boundary': 'data',
  'a preamble': `preamble\r\n--B\r\n${head}\r\n\r\ndata\r\n--B--\r\n`,
  'an empty line before the first boundary': `\r\n${withHeaders(head)}`,
  'another boundary': withHeaders(head).replaceAll('--B', '--C'),
  'an epilogue': `${withHeaders(head)}epilogue`,
  'two empty lines after the end': `${withHeaders(head)}\r\n\r\n`,
  'half an empty line after the end': `${withHeaders(head)}\r`,
  'text after an empty line after the end': `${withHeaders(head)}\r\nx`,
  'an LF after the end': `${withHeaders(head).trimEnd()}\n`,
  'a dash after the end': `${withHeaders(head).trimEnd()}-\r\n`,
  'a part after the end': `${withHeaders(head)}${withHeaders(head)}`,
  'no end': `--B\r\n${head}\r\n\r\ndata`,
  'no end after a delimiter': `--B\r\n${head}\r\n\r\ndata\r\n--B\r\n`,
  'half an end': `--B\r\n${head}\r\n\r\ndata\r\n--B-`,
  'the end inside the headers': `--B\r\n${head}\r\n--B--\r\n`,
  'the end right after the headers': `--B\r\n${head}\r\n\r\n--B--\r\n`,
  'a delimiter right after the headers': `--B\r\n${head}\r\n\r\n--B\r\n${head}\r\n\r\ndata\r\n--B--\r\n`,
  'a space after a delimiter': `--B \r\n${head}\r\n\r\ndata\r\n--B--\r\n`,
  'an LF after a delimiter': `--B\n${head}\r\n\r\ndata\r\n--B--\r\n`,
  'a CR after a delimiter': `--B\r${head}\r\n\r\ndata\r\n--B--\r\n`,
  'one dash after a delimiter': `--B-\r\n${head}\r\n\r\ndata\r\n--B--\r\n`,
  'LF as every line end': withHeaders(head).replaceAll('\r\n', '\n'),
  'an LF before the end': `--B\r\n${head}\r\n\r\ndata\n--B--\r\n`,
  'a CR before the end': `--B\r\n${head}\r\n\r\ndata\r--B--\r\n`,
  'the end without a line break': `--B\r\n${head}\r\n\r\ndata--B--\r\n`,
  'the boundary inside the content': withContent('da--Bta'),
  'the boundary inside after an LF': withContent(`x\n--B\r\n${head}\r\n\r\nevil`),
  'a longer boundary inside': withContent(`x\r\n--BB\r\n${head}\r\n\r\nevil`),
  'the boundary with padding inside': withContent(`x\r\n--B \r\n${head}\r\n\r\nevil`),
  'the boundary with LF inside': withContent(`x\r\n--B\n${head}\r\n\r\nevil`),
  'the boundary with a third dash': withContent('x\r\n---B\r\ny'),
  'a disposition in lower case after another': `--B\r\n${head}\r\n\r\n1\r\n--B\r\n${lowerCase}\r\n\r\n2\r\n--B--\r\n`,
  'a disposition in lower case before another': `--B\r\n${lowerCase}\r\n\r\n1\r\n--B\r\n${head}\r\n\r\n2\r\n--B--\r\n`,
  'a part without headers': '--B\r\n\r\ndata\r\n--B--\r\n',
  'a part without a disposition': withHeaders('Content-Type: audio/wav'),
  'an empty header line first': withHeaders(`\r\n${head}`),
  'a header line without a colon': withHeaders(`${head}\r\nnonsense`),
  'a header without a name': withHeaders(`${head}\r\n: x`),
  'a header with an empty value': withType(''),
  'a space before the colon': withHeaders(head.replace(':', ' :')),
  'no space after the colon': withHeaders(head.replace(': ', ':')),
  'a space at the end of a header': withDisposition(`${disposition} `),
  'a space before a header': withDisposition(` ${disposition}`),
  'a folded header': withHeaders(head.replace('; filename', ';\r\n filename')),
  'an LF between headers': withHeaders(head.replace('\r\n', '\n')),
  'an empty line of LF': `--B\r\n${head}\n\ndata\r\n--B--\r\n`,
  'a NUL in a header value': withType('audio/wav\0'),
  'a repeated disposition': withHeaders(`${head}\r\n${disposition.replace('a.wav', 'b.exe')}`),
  'a repeated content type in another case': withHeaders(`${head}\r\ncontent-type: text/html`),
  'a repeated Content-Length': withHeaders(`${head}\r\nContent-Length: 4\r\nContent-Length: 4`),
  'an untrue Content-Length': withHeaders(`${head}\r\nContent-Length: 3`),
  'a malformed Content-Length': withHeaders(`${head}\r\nContent-Length: +4`),
  'a Content-Length with a leading zero': withHeaders(`${head}\r\nContent-Length: 04`),
  'a base64 transfer encoding': withHeaders(`${head}\r\nContent-Transfer-Encoding: base64`),
  'a transfer encoding of seven bits': withHeaders(`${head}\r\nContent-Transfer-Encoding: 7bit`),
  'a transfer encoding in upper case': withHeaders(`${head}\r\nContent-Transfer-Encoding: BINARY`),
  'the transfer encoding of a text': withHeaders(
    'Content-Disposition: form-data; name="a"\r\nContent-Transfer-Encoding: binary',
  ),
  'the transfer encoding of a file without a type': withHeaders(
    `${disposition}\r\nContent-Transfer-Encoding: binary`,
  ),
  'an unknown header': withHeaders(`${head}\r\nX-Custom: 1`),
  'headers that are too long by one byte': longHeaders(1025),
  'headers in a mixture of cases': withHeaders(head.replace('Disposition', 'DISPOSITION')),
  'a content type in a mixture of cases': withHeaders(head.replace('-Type', '-type')),
  'attachment instead of form-data': withHeaders(head.replace('form-data', 'attachment')),
  'a disposition without a name': withHeaders('Content-Disposition: form-data'),
  'a disposition with a file name alone': withDisposition('Content-Disposition: form-data; filename="a.wav"'),
  'the file name before the name': withDisposition(
    'Content-Disposition: form-data; filename="a.wav"; name="file"',
  ),
  'an extended file name': withDisposition(`${disposition}; filename*=UTF-8''evil.exe`),
  'an extended name': withDisposition(`Content-Disposition: form-data; name*=UTF-8''x; filename="a.wav"`),
  'two file names': withDisposition(`${disposition}; filename="b.exe"`),
  'another parameter': withDisposition(`${disposition}; size=4`),
  'an unquoted file name': withDisposition('Content-Disposition: form-data; name="file"; filename=a.wav'),
  'a quote that does not close': withHeaders('Content-Disposition: form-data; name="file'),
  'an escaped quote': withFileName('a\\".wav'),
  'a backslash': withFileName('C:\\a.wav'),
  'text after a quoted value': withDisposition(
    'Content-Disposition: form-data; name="file"x; filename="a.wav"',
  ),
  'no space after a semicolon': withHeaders(head.replace('; f', ';f')),
  'a space around the equals sign': withHeaders(head.replace('name=', 'name =')),
  'a parameter in capitals': withHeaders(head.replace('filename', 'FileName')),
  'a NUL in a file name': withFileName('a.exe\0.wav'),
  'a DEL in a file name': withFileName('a\x7f.wav'),
  'an LF in a file name': withFileName('a\n.wav'),
  'a CRLF in a file name': withFileName('a\r\n.wav'),
  'a percent escape in a file name': withFileName('a%22.wav'),
  'a numeric entity in a file name': withFileName('a&#0047;b.wav'),
  'a named entity in a file name': withFileName('a&sol;b.wav'),
  'a blank before a dot, as an entity without a semicolon': withFileName('&nbsp.htaccess'),
  'a file name that looks like a parameter': withFileName("a; filename*=UTF-8''evil.exe"),
  'a file name that looks like a name': withFileName('a; name=evil'),
  'a file name with two semicolons': withFileName('a;b;c.wav'),
  'a file name that begins with a semicolon': withFileName(';a.wav'),
  'a name that looks like a file name': withName('a; filename=evil.exe'),
  'a name with a slash before it': withName('/file'),
  'an empty name': withName(''),
  'a name of spaces': withName(' '),
  'a name with a percent escape': withName('a%22b'),
  'a name with an entity': withName('a&quot;b'),
  'a name with the beginning of a tag': withName('a<b'),
  'a name with the end of a tag': withName('a>b'),
  'a name that is too long': withName('n'.repeat(257)),
  'the name __proto__': withName('__proto__'),
  'the name _charset_': withName('_charset_'),
  'the name MAX_FILE_SIZE': withName('MAX_FILE_SIZE'),
  'the name MAX_FILE_SIZE in another letter case': withName('max_File_Size'),
  'a name with a semicolon': withName('a;b'),
  'a name with an equals sign': withName('a=b'),
  'a name with an ampersand': withName('a&b'),
  'a name with a bracket that closes nothing': withName('a]'),
  'a name with a second bracket that closes nothing': withName('a[b]]'),
  'a name with a second bracket that is not closed': withName('a[b]c[d'),
  'a name with a bracket in brackets': withName('a[[b]'),
  'a name with a bracket that is not closed': withName('a[b'),
  'a name with brackets in brackets': withName('a[[b]]'),
  'a name that begins with a bracket': withName('[a]'),
  'a name with a mark that is not seen': withName('a\u200bb'),
  'the boundary in a file name': withFileName('a--B.wav'),
  'a nested multipart': withType('multipart/mixed; boundary=C'),
  'a nested URL-encoded form': withType('Application/x-www-form-urlencoded; charset=utf-8'),
  'a nested message': withType('message/rfc822'),
  'a content type that is too long': withType(`audio/${'w'.repeat(128)}`),
  'a content type without a subtype': withType('audio'),
  'a file name in a content type': withType('audio/wav; filename=evil.php'),
  'a file name in quotes in a content type': withType('audio/wav; x="; FileName*=evil.php"'),
  'a name in a content type': withType('audio/wav;name=evil'),
  'two content types in one header': withType('audio/wav, text/html'),
  'a comma outside quotes in a content type': withType('video/webm;codecs=vp8,opus'),
  'a broken parameter of a content type': withType('audio/wav; x'),
  'a file name that WebOb reads in the charset of its content': withType('audio/wav; charset="utf-7"'),
  'a charset in which WebOb reads the letters of a file name': withType('audio/wav;charset=ISO-8859-1'),
  'a content type with two charsets': withType('text/csv; charset=utf-8; charset=utf-7'),
  'a text field with a content type': withHeaders(
    'Content-Disposition: form-data; name="a"\r\nContent-Type: text/plain',
  ),
};

describe('the canonical reader takes what every parser reads alike', () => {
  for (const [name, body] of Object.entries(accepted)) {
    it(`takes ${name}`, () => {
      assert.ok(read(Buffer.from(body)).length > 0);
    });
  }

  it('hands over names, types and every byte', () => {
    const body = `--B\r\n${head}\r\n\r\n\r\nda\nta\r\r\n--B\r\n${withName('note').slice(5)}`;
    assert.deepEqual(read(Buffer.from(body)), [
      { name: 'file', fileName: 'a.wav', type: 'audio/wav', data: '\r\nda\nta\r' },
      { name: 'note', fileName: undefined, type: undefined, data: 'data' },
    ]);
  });
});

describe('the canonical reader refuses what two parsers could read differently', () => {
  for (const [name, body] of Object.entries(ambiguous)) {
    it(`refuses ${name}`, () => {
      assert.throws(() => read(Buffer.from(body)), isAmbiguous);
    });
  }

  it('refuses endless headers without waiting for their end', () => {
    const reader = new MultipartReader('B', {
      partBegins: () => {},
      partData: () => {},
      partEnds: () => {},
    });
    reader.write(Buffer.from(`--B\r\n${disposition}`));
    reader.write(Buffer.alloc(900, 'x'));
    assert.throws(() => reader.write(Buffer.alloc(100, 'x')), isAmbiguous);
  });

  it('says how it has to be written', () => {
    const written = /not written as form-data; name="a"; filename="b"$/;
    assert.throws(() => read(Buffer.from(withFileName('a\\".wav'))), { publicMessage: written });
    const brokenLine = `--B\n${head}\n\n1\n--B--\n`;
    assert.throws(() => read(Buffer.from(brokenLine)), { publicMessage: /does not end in CR LF$/ });
    const noBlank = withHeaders(head.replaceAll(': ', ':'));
    assert.throws(() => read(Buffer.from(noBlank)), { publicMessage: /not written as Name: value$/ });
    const noSubtype = withType('audio');
    assert.throws(() => read(Buffer.from(noSubtype)), { publicMessage: /not written as type\/subtype/ });
    const nameless = withHeaders('Content-Disposition: form-data; name="a"\r\nContent-Type: audio/wav');
    assert.throws(() => read(Buffer.from(nameless)), { publicMessage: /but no file name$/ });
    assert.throws(() => read(Buffer.from(withFileName('a%22.wav'))), {
      publicMessage: /an escape such as %22/,
    });
  });

  it('refuses header bytes that are not UTF-8', () => {
    assert.throws(() => read(Buffer.from(withFileName('\xff.wav'), 'latin1')), isAmbiguous);
  });
});

describe('the verdict does not depend on the chunks', () => {
  for (const [name, text] of Object.entries({ ...accepted, ...ambiguous })) {
    it(`of ${name}`, () => {
      const body = Buffer.from(text);
      const whole = verdict([body]);
      // Every split in two of a short body, and a spread of them over a long one.
      const stride = Math.max(1, Math.floor(body.length / 500));
      for (let at = 0; at <= body.length; at += stride) {
        assert.deepEqual(verdict([body.subarray(0, at), body.subarray(at)]), whole, `split at ${at}`);
      }
      assert.deepEqual(verdict(Array.from(body, (byte) => Buffer.from([byte]))), whole, 'byte by byte');
    });
  }

  it('of random bodies in random chunks', () => {
    const pieces = fc.constantFrom(
      '\r\n',
      '--B',
      '--',
      '\r',
      '\n',
      'B',
      '-',
      head,
      disposition,
      '\r\n\r\n',
      'data',
      '\r\n--B',
      '\r\n--B--',
    );
    fc.assert(
      fc.property(
        fc.array(pieces, { maxLength: 12 }),
        fc.array(fc.nat(40), { maxLength: 20 }),
        (parts, cuts) => {
          const body = Buffer.from(`--B\r\n${head}\r\n\r\n${parts.join('')}\r\n--B--\r\n`);
          assert.deepEqual(verdict(cutAt(body, cuts)), verdict([body]));
        },
      ),
      { numRuns: 1200 },
    );
  });
});

describe('the boundary of a Content-Type', () => {
  const taken: Readonly<Record<string, string>> = {
    'multipart/form-data; boundary=abc': 'abc',
    'multipart/form-data;boundary=abc': 'abc',
    'multipart/form-data; boundary="abc"': 'abc',
    'multipart/form-data; boundary="dart-http_a.b+c"': 'dart-http_a.b+c',
    'multipart/form-data; boundary=----WebKitFormBoundary7MA4YWxk': '----WebKitFormBoundary7MA4YWxk',
    'multipart/form-data; charset=utf-8; boundary=abc': 'abc',
    'multipart/form-data; boundary=abc; charset=UTF-8': 'abc',
    [`multipart/form-data; boundary=${'b'.repeat(70)}`]: 'b'.repeat(70),
  };
  for (const [contentType, expected] of Object.entries(taken)) {
    it(`is read from ${contentType}`, () => assert.equal(readBoundary(contentType), expected));
  }

  const refused = [
    'multipart/form-data',
    'Multipart/Form-Data; boundary=abc',
    'multipart/form-data; Boundary=abc',
    'multipart/form-data; boundary=abc; Charset=utf-8',
    'multipart/form-data; boundary=abc ; charset=utf-8',
    ...Array.from(`,='"()/:?;!#*`, (sign) => `multipart/form-data; boundary="Z${sign}Q"`),
    "multipart/form-data; boundary='x'Z",
    'multipart/form-data; boundary',
    'multipart/form-data; boundary=',
    'multipart/form-data; boundary= abc',
    'multipart/form-data; boundary=abc;',
    'multipart/form-data; boundary=a b',
    'multipart/form-data; boundary="a b"',
    'multipart/form-data; boundary="abc',
    'multipart/form-data; boundary="a\\"b"',
    'multipart/form-data; boundary=a\\b',
    'multipart/form-data; boundary=abc, multipart/form-data; boundary=def',
    'multipart/form-data; boundary=abc; boundary=def',
    "multipart/form-data; boundary*=us-ascii''abc; boundary=def",
    'multipart/form-data; boundary=abc; x=1',
    'multipart/form-data; boundary=abc; x=utf-8',
    'multipart/form-data; boundary=abc; charset=utf-7',
    'multipart/form-data; boundary=abc; charset=utf-8; charset=utf-8',
    'multipart/form-data; boundary=-----',
    'multipart/form-data; boundary=äbc',
    'multipart/form-data boundary=abc',
    `multipart/form-data; boundary=${'b'.repeat(71)}`,
  ];
  for (const contentType of refused) {
    it(`is refused in ${JSON.stringify(contentType)}`, () => {
      assert.throws(() => readBoundary(contentType), Refusal);
    });
  }

  for (const contentType of [
    undefined,
    '',
    'application/json',
    'multipart/mixed; boundary=a',
    'multipart/form-dataX; boundary=a',
  ]) {
    it(`is not looked for in ${contentType}`, () => {
      assert.throws(() => readBoundary(contentType), { code: 'file_unsupported' });
    });
  }

  it('is left to a library', () => {
    const leave = /has no boundary, so leave this header to what writes the form$/;
    assert.throws(() => readBoundary('multipart/form-data'), { publicMessage: leave });
  });
});

describe('a form that a client library makes', () => {
  it('is taken from the FormData of the runtime', async () => {
    const form = new FormData();
    form.set('note', 'hello');
    form.set('file', new Blob([Buffer.alloc(1000, 7)], { type: 'audio/wav' }), 'Änne.wav');
    const response = new Response(form);
    const boundary = readBoundary(response.headers.get('content-type') ?? undefined);
    const parts = read(Buffer.from(await response.arrayBuffer()), boundary);
    assert.deepEqual(
      parts.map(({ name, fileName, type }) => [name, fileName, type]),
      [
        ['note', undefined, undefined],
        ['file', 'Änne.wav', 'audio/wav'],
      ],
    );
  });

  it('is taken with a part of many megabytes', () => {
    const data = Buffer.alloc(5_000_000, '\r\n--nearly');
    assert.equal(read(formBody([{ headers: head, data }], 'B'))[0]?.data.length, data.length);
  });
});

interface ReadPart {
  readonly name: string;
  readonly fileName: string | undefined;
  readonly type: string | undefined;
  readonly data: string;
}

function read(body: Buffer | readonly Buffer[], boundary = 'B'): ReadPart[] {
  const parts: ReadPart[] = [];
  let current: Buffer[] = [];
  const reader = new MultipartReader(boundary, {
    partBegins: ({ name, fileName, type }) => {
      current = [];
      parts.push({ name, fileName, type, data: '' });
    },
    partData: (data) => current.push(Buffer.from(data)),
    partEnds: () => {
      const part = parts.pop();
      assert.ok(part);
      parts.push({ ...part, data: Buffer.concat(current).toString('latin1') });
    },
  });
  for (const chunk of Array.isArray(body) ? body : [body]) reader.write(chunk);
  reader.end();
  return parts;
}

/** The parts, or the words of the refusal. */
function verdict(chunks: readonly Buffer[]): ReadPart[] | string {
  try {
    return read(chunks);
  } catch (error) {
    assert.ok(error instanceof Refusal, String(error));
    return error.message;
  }
}

function cutAt(body: Buffer, lengths: readonly number[]): Buffer[] {
  const chunks: Buffer[] = [];
  let rest = body;
  for (const length of lengths) {
    chunks.push(rest.subarray(0, length));
    rest = rest.subarray(length);
  }
  return [...chunks, rest];
}

function isAmbiguous(error: unknown): boolean {
  return error instanceof Refusal && error.code === 'file_ambiguous';
}
