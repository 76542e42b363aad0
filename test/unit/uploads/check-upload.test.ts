import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { Busboy } from '@fastify/busboy';
import type { BodyCheck } from '../../../src/config/body-schema/compile-schema.ts';
import type { FieldKind } from '../../../src/config/body-schema/field-kinds.ts';
import type {
  BareFileRule,
  FieldsSchemaRule,
  FileRule,
  FormRule,
  UploadRule,
} from '../../../src/config/upload-rule.ts';
import { Refusal, type RefusalCode } from '../../../src/refusals.ts';
import { checkUpload, checkUploadSize } from '../../../src/uploads/check-upload.ts';
import type { Visit } from '../../../src/visit.ts';
import { boundary, chunksOf, formBody, type Part } from '../../helpers/form-body.ts';
import { samples, wav } from '../../helpers/sample-files.ts';

const voice: FileRule = {
  required: true,
  countMax: 1,
  sizeMax: 10_000,
  sizeMin: 1,
  types: ['audio/wav', 'audio/mpeg'],
  extensions: undefined,
  nameLengthMax: 100,
};

const form: FormRule = {
  kind: 'form',
  sizeMax: 20_000,
  files: new Map([['file', voice]]),
  fields: { countMax: 2, sizeMax: 100, names: undefined, schema: undefined },
  others: 'refuse',
  forward: 'whole',
};

const raw: BareFileRule = {
  kind: 'file',
  sizeMax: 10_000,
  sizeMin: 1,
  types: ['audio/wav'],
  forward: 'whole',
};

/** Short, because many forms are read byte by byte. */
const sound = wav(40);
const file: Part = { name: 'file', fileName: 'a.wav', type: 'audio/wav', data: sound };
const note: Part = { name: 'note', data: 'hello' };

const plain = 'no path, none of : * ? < > |, nothing invisible, no dot or space at either end';

const withFile = (changes: Partial<FileRule>): FormRule => ({
  ...form,
  files: new Map([['file', { ...voice, ...changes }]]),
});
const withFields = (changes: Partial<FormRule['fields']>): FormRule => ({
  ...form,
  fields: { ...form.fields, ...changes },
});
const withSchema = (changes: Partial<FieldsSchemaRule>, countMax = 2): FormRule =>
  withFields({
    countMax,
    schema: { check: () => undefined, onMismatch: 'refuse', kinds: new Map(), ...changes },
  });

const optional = withFile({ required: false });
const tightBytes = sound.length - 1;
const tight = withFile({ sizeMax: tightBytes });
const open: FormRule = { ...form, others: 'allow' };
const long: Part = { name: 'note', data: 'x'.repeat(101) };
const mine: Part = { ...file, name: 'my_file' };
const texts = (name: string): FieldsSchemaRule['kinds'] => new Map([[name, 'text']]);
const likeARule =
  'file_ambiguous: a file that no rule names has a name that some parsers take for the one of a rule';

/** By the rule of `form`, unless they have one of their own. */
const refused: Readonly<Record<string, readonly [says: string, parts: readonly Part[], rule?: FormRule]>> = {
  'a missing file': ['file_missing: file is missing', [note]],
  'an empty form': ['file_missing: file is missing', []],
  'an empty form where nothing is required': ['file_ambiguous: it has no parts', [], optional],
  'a file input left empty': ['file_missing: file is missing', [{ ...file, fileName: '', data: '' }]],
  'an empty file that is not required': ['file_missing: file is empty', [{ ...file, data: '' }], optional],
  'a text field in the place of a file that is not required': [
    'file_missing: file must be sent as a file',
    [{ name: 'file', data: 'x' }],
    optional,
  ],
  'a small file': ['body_invalid: file must be at least 2 KB', [file], withFile({ sizeMin: 2048 })],
  'a file one byte too large': [`file_too_large: file must be at most ${tightBytes} bytes`, [file], tight],
  'a large file that holds the boundary behind its limit': [
    `file_too_large: file must be at most ${tightBytes} bytes`,
    [{ ...file, data: Buffer.concat([sound, Buffer.from(`--${boundary}`)]) }],
    tight,
  ],
  'a second file': ['body_invalid: file must be sent at most once', [file, file]],
  'a third file': [
    'body_invalid: file must be sent at most 2 times',
    [file, file, file],
    withFile({ countMax: 2 }),
  ],
  'a file in another field': [
    'body_invalid: Files are taken only as file',
    [file, { ...file, name: 'other' }],
  ],
  'any file where none is named': [
    'body_invalid: The form must hold no file',
    [file],
    { ...form, files: new Map() },
  ],
  'a text renamed to .wav': [
    'file_unsupported: file must be one of audio/wav, audio/mpeg: its content is not',
    [{ ...file, data: samples.text }],
  ],
  'a file of another type': [
    'file_unsupported: file must be one of audio/wav, audio/mpeg: its name, its declared type and its content are not',
    [{ ...file, fileName: 'a.png', type: 'image/png', data: samples.png }],
  ],
  'an extension that is not listed': [
    'file_unsupported: file must have a file name that ends in one of .mp3, .ogg',
    [file],
    withFile({ extensions: ['mp3', 'ogg'] }),
  ],
  'a name without the extension that is asked for': [
    'file_unsupported: file must have a file name that ends in one of .wav',
    [{ ...file, fileName: 'wav' }],
    withFile({ extensions: ['wav'] }),
  ],
  'a long file name': [
    'body_invalid: file must have a file name of at most 100 characters',
    [{ ...file, fileName: `${'n'.repeat(100)}.wav` }],
  ],
  'a file without a declared type in a field of its own, others allowed': [
    'file_ambiguous: a file that no rule names declares no content type',
    [file, { name: 'language', fileName: 'a.wav', data: sound }],
    open,
  ],
  'an empty file name, others allowed': [
    'file_ambiguous: a file has an empty file name',
    [file, { ...file, name: 'other', fileName: '' }],
    open,
  ],
  'a long file name, others allowed': [
    'body_invalid: Every file must have a file name of at most 255 characters',
    [file, { ...file, name: 'other', fileName: 'n'.repeat(256) }],
    open,
  ],
  'a name that PHP drops, others allowed': [
    'file_ambiguous: a file that no rule names has a name with text after brackets',
    [{ ...file, name: 'other[0].a' }, file],
    open,
  ],
  'a name that PHP takes for the one of a rule, as an array, others allowed': [
    likeARule,
    [file, { ...file, name: 'file[]' }],
    open,
  ],
  'a name that PHP takes for the one of a rule, with an underscore, others allowed': [
    likeARule,
    [mine, { ...file, name: 'my.file' }],
    { ...open, files: new Map([['my_file', voice]]) },
  ],
  'a name that PHP takes for the one of a rule, with a space, others allowed': [
    likeARule,
    [mine, { ...file, name: 'my file' }],
    { ...open, files: new Map([['my_file', voice]]) },
  ],
  'a name that Netty takes for the one of a rule, others allowed': [
    likeARule,
    [file, { ...file, name: ':file' }],
    open,
  ],
  'a name that Netty takes for the one of a rule, with a comma behind it, others allowed': [
    likeARule,
    [file, { ...file, name: 'file ,' }],
    open,
  ],
  'a name in capitals that .NET takes for the one of a rule, others allowed': [
    likeARule,
    [{ ...file, name: 'FILE' }, file],
    open,
  ],
  'a file in the place of a text field that the schema knows, others allowed': [
    'body_invalid: lang must be sent as text',
    [file, { ...file, name: 'lang' }],
    { ...withSchema({ kinds: texts('lang') }), others: 'allow' },
  ],
  'a file in the place of a text field that is listed, others allowed': [
    'body_invalid: lang must be sent as text',
    [file, { ...file, name: 'lang' }],
    { ...withFields({ names: ['lang'] }), others: 'allow' },
  ],
  ...Object.fromEntries(
    ['lang[]', 'lang[x]', 'LANG'].flatMap((name) => [
      [
        `a file as ${name}, which some parsers take for a text field that the schema knows, others allowed`,
        [
          likeARule,
          [file, { ...file, name }],
          { ...withSchema({ kinds: texts('lang') }), others: 'allow' as const },
        ],
      ],
      [
        `a file as ${name}, which some parsers take for a text field that is listed, others allowed`,
        [
          likeARule,
          [file, { ...file, name }],
          { ...withFields({ names: ['lang'] }), others: 'allow' as const },
        ],
      ],
    ]),
  ),
  'a path as a file name, others allowed': [
    `file_unsupported: Every file must have a plain file name: ${plain}`,
    [file, { ...file, name: 'other', fileName: '../a.wav' }],
    open,
  ],
  'too many text fields': [
    'body_invalid: The form must have at most 2 text fields',
    [note, note, note, file],
  ],
  'a large text field': ['body_too_large: A form field must be at most 100 bytes', [long, file]],
  'a large text field that is listed': [
    'body_too_large: note must be at most 100 bytes',
    [long, file],
    withFields({ names: ['note'] }),
  ],
  'a large text field that the schema knows': [
    'body_too_large: note must be at most 100 bytes',
    [long, file],
    withSchema({ kinds: texts('note') }),
  ],
  'a text field that is not listed': [
    'body_invalid: Text fields are taken only as title, lang',
    [note, file],
    withFields({ names: ['title', 'lang'] }),
  ],
  'any text field where none is listed': [
    'body_invalid: The form must hold no text field',
    [note, file],
    withFields({ names: [] }),
  ],
  'a text field with NUL': [
    'body_invalid: A form field must be UTF-8 text',
    [{ name: 'note', data: 'a\0b' }, file],
  ],
  'a text field in Latin-1': [
    'body_invalid: A form field must be UTF-8 text',
    [{ name: 'note', data: Buffer.from('\xc4', 'latin1') }, file],
  ],
  'text fields that their schema refuses': [
    'body_invalid: lang is required',
    [note, file],
    withSchema({ check: () => 'lang is required' }),
  ],
  'a body over its limit': [
    'body_too_large: The request body must be at most 150 bytes',
    [file],
    { ...form, sizeMax: 150 },
  ],
  'a text field with a byte order mark': [
    'file_ambiguous: a text field begins with a byte order mark',
    [{ name: 'note', data: '\ufeffhello' }, file],
  ],
};

describe('a form that breaks its rule is refused in a sentence that names field and limit', () => {
  for (const [name, [says, parts, rule = form]] of Object.entries(refused)) {
    for (const size of [1, 37, 65_536]) {
      it(`${name}, in chunks of ${size}`, async () => {
        const body = formBody(parts);
        const { passed, problem } = await run(body, rule, { size });
        const message = problem?.publicMessage?.replace('The form is not in canonical form: ', '');
        assert.equal(`${problem?.code}: ${message}`, says);
        assert.ok(passed < body.length, 'what came out must never be the whole body');
      });
    }
  }

  for (const fileName of [
    '../a.wav',
    'a/b.wav',
    '.wav',
    'a.wav.',
    'a.wav ',
    ' a.wav',
    'a:b.wav',
    'a*.wav',
    'a?.wav',
    'a<.wav',
    'a>.wav',
    'a|.wav',
    'a\u202evaw.exe.wav',
    'a\ufeff.wav',
    'a\u2028b.wav',
    'a\ufffd.wav',
    'a\u200bb.wav',
    'a\u00adb.wav',
    '\u200d.wav',
    'a.wav\u00a0',
    '\ue000.wav',
    'a.wav\u{e0020}',
    'a.wav\ue000',
  ]) {
    it(`the file name ${JSON.stringify(fileName)}`, async () => {
      const { problem } = await run(formBody([{ ...file, fileName }]), form);
      assert.equal(problem?.code, 'file_unsupported');
      assert.equal(problem?.publicMessage, `file must have a plain file name: ${plain}`);
    });
  }
});

describe('a form whose schema only reports', () => {
  const bySchema = new Set([
    'a file in the place of a text field that the schema knows, others allowed',
    'text fields that their schema refuses',
  ]);
  for (const [name, [says, parts, rule = form]] of Object.entries(refused)) {
    const isReported = bySchema.has(name);
    it(`is ${isReported ? 'reported' : 'refused'} for ${name}`, async () => {
      const body = formBody(parts);
      const schema = rule.fields.schema && { ...rule.fields.schema, onMismatch: 'report' as const };
      const onTrial = { ...rule, fields: { ...rule.fields, schema } };
      const { passed, problem, reported } = await run(body, onTrial);
      if (isReported) {
        assert.deepEqual([problem, passed], [undefined, body.length]);
        assert.equal(`body_invalid: ${reported}`, says);
      } else {
        const message = problem?.publicMessage?.replace('The form is not in canonical form: ', '');
        assert.deepEqual([`${problem?.code}: ${message}`, reported], [says, undefined]);
      }
    });
  }

  it('is refused for a file that would take the place of a checked one, though a text field has its name', async () => {
    const rule = {
      ...withSchema({ kinds: texts('my.file'), onMismatch: 'report' }),
      files: new Map([['my_file', voice]]),
      others: 'allow',
    } as const;
    const { problem } = await run(formBody([mine, { ...file, name: 'my.file' }]), rule);
    assert.equal(problem?.code, 'file_ambiguous');
  });

  it('is reported for a field that is sent twice, and told the first thing alone', async () => {
    const twice = formBody([note, note, file]);
    const schema = {
      kinds: texts('note'),
      check: () => 'note must be a string',
      onMismatch: 'report',
    } as const;
    const { passed, problem, reported } = await run(twice, withSchema(schema));
    assert.deepEqual([problem, passed, reported], [undefined, twice.length, 'note must be sent once']);
  });
});

describe('a form of too many parts', () => {
  it('is refused even where any file is allowed', async () => {
    const parts = Array.from({ length: 1001 }, () => ({ ...file, name: 'other', data: '' }));
    const rule = { ...optional, others: 'allow', sizeMax: 1_000_000 } as const;
    const { problem } = await run(formBody(parts), rule);
    assert.equal(problem?.publicMessage, 'The form must have at most 1000 parts');
    assert.equal((await run(formBody(parts.slice(1)), rule)).problem, undefined);
  });
});

describe('a form that keeps its rule comes out byte for byte', () => {
  const passing: Readonly<Record<string, readonly [readonly Part[], FormRule]>> = {
    'a file': [[file], form],
    'a file between text fields': [[note, file, note], form],
    'two files': [
      [file, { ...file, fileName: 'b.mp3', type: 'audio/mpeg', data: samples.mp3 }],
      withFile({ countMax: 2 }),
    ],
    'a file without a declared type': [[{ name: 'file', fileName: 'a.wav', data: sound }], form],
    'a file of no type in particular': [[{ ...file, type: 'application/octet-stream' }], form],
    'a file of exactly the limit': [[file], withFile({ sizeMax: sound.length, sizeMin: sound.length })],
    'a file name that ends in one of those asked for': [[file], withFile({ extensions: ['mp3', 'wav'] })],
    'a file name of exactly the limit, in characters': [
      [{ ...file, fileName: `${'👩'.repeat(96)}.wav` }],
      form,
    ],
    'a text field of exactly the limit': [[{ name: 'note', data: 'x'.repeat(100) }, file], form],
    'no file where none is required': [[note], optional],
    'any file where types are not limited': [
      [{ ...file, data: samples.exe }],
      withFile({ types: undefined }),
    ],
    'an unknown file where others are allowed': [[file, { ...file, name: 'more', data: samples.exe }], open],
    'a file name in another script': [[{ ...file, fileName: '목소리 김.wav' }], form],
    'a file name with joiners': [[{ ...file, fileName: 'می\u200cخواهم 👩\u200d🔬.wav' }], form],
    'an empty text field': [[{ name: 'note', data: '' }, file], form],
    'text in other scripts': [[{ name: 'note', data: 'Äé김😀' }, file], form],
  };
  for (const [name, [parts, rule]] of Object.entries(passing)) {
    for (const size of [1, 37, 65_536]) {
      it(`${name}, in chunks of ${size}`, async () => {
        const body = formBody(parts);
        const { passed, problem } = await run(body, rule, { size });
        assert.equal(problem, undefined);
        assert.equal(passed, body.length);
      });
    }
  }

  it('and the schema sees every text field once, as a text or as a list', async () => {
    const seen: unknown[] = [];
    const kinds = new Map<string, FieldKind>([
      ['lang', 'list'],
      ['tag', 'list'],
      ['word', 'either'],
      ['say', 'either'],
    ]);
    const check: BodyCheck = (value) => {
      seen.push(value);
      return undefined;
    };
    const rule = withSchema({ check, kinds }, 9);
    const parts = [
      note,
      { name: 'lang', data: 'ko' },
      { name: 'lang', data: 'de' },
      { name: 'tag', data: 'x' },
      { name: 'say', data: '1' },
      { name: 'say', data: '2' },
      { name: 'word', data: '3' },
      { name: 'constructor', data: 'x' },
      file,
    ];
    assert.equal((await run(formBody(parts), rule)).problem, undefined);
    assert.deepEqual(seen, [
      { note: 'hello', lang: ['ko', 'de'], tag: ['x'], say: ['1', '2'], word: '3', constructor: 'x' },
    ]);
  });

  it('but not one that is sent twice where the schema takes a text', async () => {
    for (const [name, sentence] of [
      ['note', 'note must be sent once'],
      ['lang', 'A form field that the schema does not list must be sent once'],
    ] as const) {
      const twice = formBody([{ name, data: 'a' }, { name, data: 'b' }, file]);
      const { problem } = await run(twice, withSchema({ kinds: texts('note') }));
      assert.deepEqual([problem?.code, problem?.publicMessage], ['body_invalid', sentence]);
      assert.equal((await run(twice, withFields({}))).problem, undefined);
    }
  });
});

describe('a body that is the bare file', () => {
  const cases: Readonly<Record<string, readonly [Buffer, string | undefined, RefusalCode | undefined]>> = {
    'of the declared type passes': [samples.wav, 'audio/wav', undefined],
    'without a declared type passes by its content': [samples.wav, undefined, undefined],
    'of another type is refused': [samples.mp3, 'audio/wav', 'file_unsupported'],
    'declared as another type is refused': [samples.wav, 'audio/mpeg', 'file_unsupported'],
    'that is a form is refused': [
      formBody([file]),
      `multipart/form-data; boundary=${boundary}`,
      'file_unsupported',
    ],
    'that is short and of another type is refused': [Buffer.from('hello'), 'audio/wav', 'file_unsupported'],
    'that is empty is missing': [Buffer.alloc(0), 'audio/wav', 'file_missing'],
    'that is too large is refused': [wav(20_000), 'audio/wav', 'file_too_large'],
  };
  for (const [name, [body, contentType, code]] of Object.entries(cases)) {
    it(name, async () => {
      const { passed, problem } = await run(body, raw, { contentType, size: 100 });
      assert.equal(problem?.code, code);
      assert.ok(code === undefined ? passed === body.length : passed < body.length || body.length === 0);
    });
  }
});

describe('the type of a bare file', () => {
  const noise = Buffer.alloc(100, 0xaa);
  const cases = {
    'has to be shown by its content where one of its names is that of a text': [
      ['text/rtf'],
      'text/rtf',
      samples.text,
      'file_unsupported',
    ],
    'is open where it is declared as any bytes': [
      ['audio/wav'],
      'binary/octet-stream',
      samples.wav,
      undefined,
    ],
    'has to be declared where no content shows it': [
      ['application/x-own'],
      undefined,
      noise,
      'file_unsupported',
    ],
    'is taken as declared where no content shows it': [
      ['application/x-own'],
      'application/x-own',
      noise,
      undefined,
    ],
    'is not text when a large one breaks off within a character': [
      ['text/plain'],
      'text/plain',
      Buffer.concat([Buffer.alloc(20_000, 'text '), Buffer.from([0xc3])]),
      'file_unsupported',
    ],
  } as const;
  for (const [name, [types, contentType, body, code]] of Object.entries(cases)) {
    it(name, async () => {
      const rule = { ...raw, types, sizeMax: 100_000 };
      const { problem } = await run(body, rule, { contentType, size: 50 });
      assert.equal(problem?.code, code);
    });
  }
});

describe('a bare file whose type is not limited', () => {
  it('passes as it comes', async () => {
    const body = samples.exe;
    const rule = { ...raw, types: undefined };
    const { passed, problem } = await run(body, rule, { contentType: 'audio/wav', size: 100 });
    assert.deepEqual([problem, passed], [undefined, body.length]);
    const arriving = checkUpload(chunksOf(wav(9000), 500), { ...orderFor(rule), contentType: undefined });
    assert.equal((await arriving.next()).value?.length, 500, 'nothing waits for a type');
    await arriving.return();
  });
});

describe('a Content-Type of a bare file that is malformed', () => {
  for (const contentType of ['audio', 'audio/wav; x', 'text/plain; charset=a; charset=b']) {
    it(`is refused as what it is: ${contentType}`, async () => {
      const { problem } = await run(samples.wav, raw, { contentType });
      assert.deepEqual(
        [problem?.code, problem?.publicMessage],
        ['file_ambiguous', 'Content-Type is malformed'],
      );
    });
  }
});

describe('the charset that a text declares', () => {
  for (const [charset, code] of [
    ['"UTF-8"', undefined],
    ['utf8', undefined],
    ['us-ascii', undefined],
    ['utf-7', 'file_unsupported'],
    ['"utf-16"', 'file_unsupported'],
  ] as const) {
    it(`${charset} ${code === undefined ? 'passes' : 'is refused'}`, async () => {
      const type = `text/plain; charset=${charset}`;
      const bare = await run(samples.text, { ...raw, types: ['text/plain'] }, { contentType: type });
      const part = formBody([{ ...file, fileName: 'a.txt', type, data: samples.text }]);
      const inForm = await run(part, withFile({ types: ['text/plain'] }));
      assert.deepEqual([bare.problem?.code, inForm.problem?.code], [code, code && 'file_ambiguous']);
    });
  }
});

describe('the least size of a bare file', () => {
  it('is asked of it, and of nothing that is as large', async () => {
    const { length } = samples.wav;
    const contentType = 'audio/wav';
    assert.equal((await run(samples.wav, { ...raw, sizeMin: length }, { contentType })).problem, undefined);
    const { problem } = await run(samples.wav, { ...raw, sizeMin: 4096 }, { contentType });
    assert.deepEqual(
      [problem?.code, problem?.publicMessage],
      ['body_invalid', 'The file must be at least 4 KB'],
    );
  });
});

describe('a large text field', () => {
  it('is read whole by both readers', async () => {
    const size = 1_500_000;
    const rule = { ...withFields({ sizeMax: size }), sizeMax: 2 * size };
    const parts = [{ ...note, data: 'x'.repeat(size) }, file];
    const { passed, problem } = await run(formBody(parts), rule, { size: 65_536 });
    assert.equal(problem, undefined);
    assert.equal(passed, formBody(parts).length);
  });
});

describe('a body that streams through its check', () => {
  it('shows nothing of a text from where it is no text any more', async () => {
    const text = { ...raw, types: ['text/plain'], sizeMax: 1_000_000 };
    const body = Buffer.alloc(200_000, 'text ');
    body[100_500] = 0xff;
    const { passed, problem } = await run(body, text, { contentType: 'text/plain', size: 1000 });
    assert.equal(problem?.code, 'file_unsupported');
    assert.ok(passed <= 100_000, `${passed} bytes were shown`);
  });

  it('is refused by a length that is announced', () => {
    checkUploadSize(20_000, form);
    assert.throws(() => checkUploadSize(20_001, form), { code: 'body_too_large' });
    assert.throws(() => checkUploadSize(10_001, raw), { code: 'file_too_large' });
  });

  it('shows nothing before the type of its file has passed', async () => {
    const data = wav(40_000);
    const body = formBody([note, { ...file, data }]);
    const rule = { ...withFile({ sizeMax: 100_000 }), sizeMax: 100_000 };
    let read = 0;
    const counted = (async function* (): AsyncGenerator<Buffer, void> {
      for await (const chunk of chunksOf(body, 1000)) {
        read += chunk.length;
        yield chunk;
      }
    })();
    const checked = checkUpload(counted, orderFor(rule));
    await checked.next();
    assert.ok(read > 16_384 && read < 20_000, `the first byte came out after ${read} bytes had come in`);
    await checked.return();
  });

  it('shows no byte of what stands before the first file until its type has passed', async () => {
    const refusedFile = { ...file, data: samples.exe };
    const { passed, problem } = await run(formBody([note, note, refusedFile]), form, { size: 50 });
    assert.deepEqual([problem?.code, passed], ['file_unsupported', 0]);
  });

  it('shows no byte of a bare file before its type has passed', async () => {
    const body = Buffer.concat([samples.mp3, Buffer.alloc(9000)]);
    const { passed, problem } = await run(body, raw, { contentType: undefined, size: 100 });
    assert.deepEqual([problem?.code, passed], ['file_unsupported', 0]);
  });

  it('lets a bare file through as soon as its type has passed', async () => {
    const chunks = await Array.fromAsync(chunksOf(wav(90_000), 5000));
    const { length } = chunks;
    const body = (async function* (): AsyncGenerator<Buffer, void> {
      while (chunks.length > 0) yield chunks.shift()!;
    })();
    const arriving = checkUpload(body, orderFor({ ...raw, sizeMax: 100_000 }));
    await arriving.next();
    assert.ok(chunks.length > length / 3, `${chunks.length} of ${length} chunks were not read yet`);
    await arriving.return();
  });

  it('takes no chunk without bytes for the last', async () => {
    const body = formBody([file]);
    const arriving = (async function* (): AsyncGenerator<Buffer, void> {
      yield body;
      yield Buffer.alloc(0);
    })();
    const rule = withSchema({ check: () => 'no' });
    await assert.rejects(checkUpload(arriving, orderFor(rule)).next(), Refusal);
  });

  it('holds no file back that others: allow lets through', async () => {
    const rule = { ...optional, others: 'allow' } as const;
    const body = formBody([{ ...file, name: 'more', data: wav(9000) }]).subarray(0, -40);
    const { passed, problem } = await run(body, rule, { size: 500 });
    assert.equal(problem?.code, 'file_ambiguous');
    assert.ok(passed > 8000, `${passed} bytes came out`);
  });

  it('shows no byte of a later file before its type has passed', async () => {
    const parts = [file, { ...file, data: Buffer.concat([samples.exe, Buffer.alloc(30_000)]) }];
    const body = formBody(parts);
    const rule = { ...withFile({ sizeMax: 100_000, countMax: 2 }), sizeMax: 100_000 };
    const { passed, problem } = await run(body, rule, { size: 500 });
    assert.equal(problem?.code, 'file_unsupported');
    assert.ok(passed < body.indexOf('MZ'));
  });

  it('is refused when the second parser reads something else', async (t) => {
    t.mock.method(Busboy.prototype, '_write', (_chunk: Buffer, _encoding: string, done: () => void) =>
      done(),
    );
    const { passed, problem } = await run(formBody([file]), form, { size: 100 });
    assert.equal(problem?.publicMessage, 'The form can be read in two ways');
    assert.ok(passed < formBody([file]).length);
  });

  it('holds back its last bytes and its closing delimiter until all of it passed, however it is cut', async () => {
    const body = formBody([file]);
    const delimiter = Buffer.from(`--${boundary}--`);
    for (let size = 1; size <= body.length; size += 1) {
      const { passed, problem } = await run(body, withSchema({ check: () => 'no' }), { size });
      assert.equal(problem?.publicMessage, 'no');
      assert.ok(!body.subarray(0, passed).includes(delimiter), `in chunks of ${size}`);
      assert.ok(
        passed >= body.length - delimiter.length - size - 2,
        `in chunks of ${size}: ${passed} came out`,
      );
    }
  });

  it('has to be a whole form to the first reader too', async () => {
    const whole = formBody([file]);
    for (const [body, fault] of [
      [whole.subarray(0, -4), 'the end is missing'],
      [Buffer.concat([whole, Buffer.from('\r')]), 'something follows the end'],
    ] as const) {
      const { problem } = await run(body, form);
      assert.equal(problem?.publicMessage, `The form is not in canonical form: ${fault}`);
    }
  });

  it('passes the failure of its source on', async () => {
    const body = (async function* (): AsyncGenerator<Buffer, void> {
      yield formBody([file]).subarray(0, 100);
      throw new Error('the client went away');
    })();
    const checked = checkUpload(body, orderFor(form));
    await assert.rejects(checked.next(), { message: 'the client went away' });
  });

  it('gives back the memory of a chunk when the next is asked for, and loses no byte by it', async () => {
    const types = ['audio/wav', 'text/plain'];
    const rule = { ...withFile({ sizeMax: 100_000, countMax: 2, types }), sizeMax: 100_000 };
    // Of two bytes each, which many chunks cut in two.
    const letters = { ...file, fileName: 'a.txt', type: 'text/plain', data: 'ä'.repeat(10_000) };
    const body = formBody([note, { ...file, data: wav(20_000) }, letters, note]);
    for (const size of [20, 21, 4096, 4097, 65_536]) {
      const own: Buffer[] = [];
      const arriving = (async function* (): AsyncGenerator<Buffer, void> {
        for await (const chunk of chunksOf(body, size)) {
          const copy = Buffer.allocUnsafeSlow(chunk.length);
          chunk.copy(copy);
          own.push(copy);
          yield copy;
        }
      })();
      const came: Buffer[] = [];
      const checked = checkUpload(arriving, orderFor(rule));
      for await (const chunk of checked) came.push(Buffer.from(chunk));
      assert.ok(Buffer.concat(came).equals(body), `in chunks of ${size}`);
      assert.ok(own.every(({ length }) => length === 0));
    }
  });

  it('leaves memory alone in which more lies than the chunk', async () => {
    const body = formBody([file]);
    const around = Buffer.concat([body, Buffer.from('more')]);
    const chunks = chunksOf(around.subarray(0, body.length), body.length);
    for await (const _ of checkUpload(chunks, orderFor(form)));
    assert.ok(around.subarray(0, body.length).equals(body));
  });
});

interface RunOptions {
  readonly size?: number;
  readonly contentType?: string | undefined;
}

/** Runs a body through its check and says how much came out, how it ended, and what was reported of it. */
async function run(
  body: Buffer,
  rule: UploadRule,
  { size, ...declared }: RunOptions = {},
): Promise<{ passed: number; problem?: Refusal; reported: string | undefined }> {
  const order = { ...orderFor(rule), ...declared };
  const checked = checkUpload(chunksOf(body, size), order);
  const out: Buffer[] = [];
  let problem: Refusal | undefined;
  try {
    for await (const piece of checked) out.push(Buffer.from(piece));
  } catch (error) {
    assert.ok(error instanceof Refusal, String(error));
    problem = error;
  }
  const passed = Buffer.concat(out);
  assert.ok(passed.equals(body.subarray(0, passed.length)), 'the bytes must come out unchanged');
  const came = { passed: passed.length, reported: order.visit.mismatch };
  return problem ? { ...came, problem } : came;
}

function orderFor(rule: UploadRule) {
  const visit: Pick<Visit, 'mismatch'> = { mismatch: undefined };
  return { contentType: contentTypeOf(rule), rule, visit };
}

function contentTypeOf(rule: UploadRule): string {
  return rule.kind === 'form' ? `multipart/form-data; boundary=${boundary}` : 'audio/wav';
}
