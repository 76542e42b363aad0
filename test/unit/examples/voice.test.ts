import assert from 'node:assert/strict';
import { test } from 'node:test';
import { guessByVoice } from '../../../examples/recognition/voice.ts';
import { decodeWav } from '../../../examples/recognition/wav.ts';
import { doesNotHang } from '../../helpers/no-hang.ts';
import { encodeWav, riff, tone } from '../../helpers/wav.ts';

const sounds = [
  { name: 'a pure tone', harmonics: [1], noise: 0 },
  { name: 'strong harmonics', harmonics: [1, 0.8, 0.6, 0.4], noise: 0 },
  { name: 'a fundamental weaker than its harmonics', harmonics: [0.2, 1, 0.7], noise: 0 },
  { name: 'harmonics in noise', harmonics: [1, 0.5, 0.3], noise: 0.3 },
];

for (const { name, ...shape } of sounds) {
  for (const hz of [85, 110, 220, 330]) {
    test(`a voice of ${hz} Hz is heard within two per cent: ${name}`, () => {
      const { fundamentalHz } = guessByVoice(decodeWav(encodeWav(tone(hz, shape))));
      assert.ok(fundamentalHz && Math.abs(fundamentalHz / hz - 1) < 0.02, `heard ${fundamentalHz} Hz`);
    });
  }
}

test('a tone of 440 Hz, as a tuning fork gives it, is heard as that', () => {
  const { fundamentalHz } = guessByVoice(decodeWav(encodeWav(tone(440, { harmonics: [1] }))));
  assert.ok(fundamentalHz && Math.abs(fundamentalHz / 440 - 1) < 0.02, `heard ${fundamentalHz} Hz`);
});

test('a hum that is lower than any voice is not given the pitch of the lowest one', () => {
  assert.equal(guessByVoice(decodeWav(encodeWav(tone(55)))).fundamentalHz, null);
});

const formats = [
  { bits: 8 },
  { bits: 16, channels: 2 },
  { bits: 24 },
  { bits: 32 },
  { bits: 32, encoding: 'float' as const, channels: 2 },
  { bits: 16, sampleRate: 8_000 },
  { bits: 16, sampleRate: 44_100 },
  { bits: 24, sampleRate: 96_000, channels: 2 },
];

for (const format of formats) {
  test(`every plain PCM format is decoded: ${JSON.stringify(format)}`, () => {
    const { sampleRate = 16_000 } = format;
    const guess = guessByVoice(decodeWav(encodeWav(tone(110, { sampleRate }), { ...format, sampleRate })));
    assert.ok(Math.abs((guess.fundamentalHz ?? 0) / 110 - 1) < 0.02, `heard ${guess.fundamentalHz} Hz`);
    assert.equal(guess.durationSeconds, 0.5);
    assert.equal(guess.guess, 'male');
  });
}

test('a high voice is guessed female and a voice between the two with little confidence', () => {
  assert.equal(guessByVoice(decodeWav(encodeWav(tone(220)))).guess, 'female');
  assert.ok((guessByVoice(decodeWav(encodeWav(tone(166)))).probability ?? 1) < 0.6);
});

const pitchless = {
  silence: new Float32Array(8_000),
  'noise alone': tone(100, { harmonics: [0], noise: 1 }),
  'a click': new Float32Array(10).fill(1),
  nothing: new Float32Array(0),
};

for (const [name, samples] of Object.entries(pitchless)) {
  test(`no pitch is made up where there is none: ${name}`, () => {
    const { fundamentalHz, guess, probability } = guessByVoice(decodeWav(encodeWav(samples)));
    assert.deepEqual(
      { fundamentalHz, guess, probability },
      { fundamentalHz: null, guess: 'unknown', probability: null },
    );
  });
}

const good = encodeWav(tone(220));
const fmt = good.subarray(20, 36);
const data = good.subarray(44);

test('chunks around the sound, of odd length too, do no harm', () => {
  const file = riff(
    ['LIST', Buffer.from('odd')],
    ['fmt ', fmt],
    ['fact', Buffer.alloc(4)],
    ['data', data],
    ['x', data],
  );
  assert.equal(decodeWav(file).samples.length, 8_000);
});

test('the extensible form of the header is read', () => {
  const extended = Buffer.concat([fmt, Buffer.alloc(24)]);
  extended.writeUInt16LE(0xfffe, 0);
  extended.writeUInt16LE(1, 24);
  assert.equal(decodeWav(riff(['fmt ', extended], ['data', data])).samples.length, 8_000);
});

for (const length of [0, 0xffffffff]) {
  test(`a file whose writer left the length at ${length} is read to its end`, () => {
    const file = Buffer.from(good);
    file.writeUInt32LE(length, 40);
    assert.equal(decodeWav(file).samples.length, 8_000);
  });
}

const patched = (change: (file: Buffer) => void): Buffer => {
  const file = Buffer.from(good);
  change(file);
  return file;
};

const unreadable: readonly { name: string; file: Buffer; status: number }[] = [
  { name: 'an empty file', file: Buffer.alloc(0), status: 415 },
  { name: 'an MP3', file: Buffer.from('ID3\x04 and so on, for a while'), status: 415 },
  { name: 'a RIFF file that is no WAVE', file: patched((file) => file.write('AVI ', 8)), status: 415 },
  { name: 'sound that is cut short', file: good.subarray(0, 1_000), status: 400 },
  { name: 'a header that is cut short', file: good.subarray(0, 30), status: 400 },
  { name: 'no sound', file: riff(['fmt ', fmt]), status: 400 },
  { name: 'sound before its format', file: riff(['data', data], ['fmt ', fmt]), status: 400 },
  { name: 'compressed sound', file: patched((file) => file.writeUInt16LE(0x55, 20)), status: 415 },
  { name: 'twelve bits', file: patched((file) => file.writeUInt16LE(12, 34)), status: 415 },
  { name: 'no channel', file: patched((file) => file.writeUInt16LE(0, 22)), status: 415 },
  { name: 'six channels', file: patched((file) => file.writeUInt16LE(6, 22)), status: 415 },
  { name: 'a sample rate of nought', file: patched((file) => file.writeUInt32LE(0, 24)), status: 415 },
  {
    name: 'a sample rate out of this world',
    file: patched((file) => file.writeUInt32LE(4e9, 24)),
    status: 415,
  },
];

for (const { name, file, status } of unreadable) {
  test(`what cannot be decoded is refused with ${status}: ${name}`, () => {
    assert.throws(() => decodeWav(file), { status });
  });
}

test('two minutes of sound take no longer than a moment', () => {
  const sound = { sampleRate: 16_000, samples: tone(110, { seconds: 120 }) };
  doesNotHang(() => guessByVoice(sound));
});
