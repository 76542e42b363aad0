import { Unreadable } from './unreadable.ts';

/** Sound as numbers between -1 and 1, the channels mixed into one. */
export interface Sound {
  readonly sampleRate: number;
  readonly samples: Float32Array;
}

interface Format {
  readonly encoding: 'integer' | 'float';
  readonly channels: number;
  readonly sampleRate: number;
  readonly bits: number;
}

const pcm = 1;
const ieeeFloat = 3;
const extensible = 0xfffe;
/** Programs that write to a pipe cannot know the length and put one of these. */
const unknownLengths = [0, 0xffffffff];

/** Decodes a RIFF WAVE file: 8, 16, 24 and 32 bit integers, 32 bit floats, one or two channels. */
export function decodeWav(file: Buffer): Sound {
  if (file.length < 12 || tag(file, 0) !== 'RIFF' || tag(file, 8) !== 'WAVE') {
    throw new Unreadable(415, 'Only WAV files are understood');
  }
  let format: Format | undefined;
  for (let at = 12; at + 8 <= file.length;) {
    const size = file.readUInt32LE(at + 4);
    const start = at + 8;
    if (tag(file, at) === 'fmt ') format = readFormat(file.subarray(start, start + size));
    if (tag(file, at) === 'data') {
      if (!format) throw new Unreadable(400, 'The WAV file does not say how its sound is encoded');
      return { sampleRate: format.sampleRate, samples: mix(soundBytes(file, start, size), format) };
    }
    at = start + size + (size % 2);
  }
  throw new Unreadable(400, 'The WAV file holds no sound');
}

function tag(file: Buffer, at: number): string {
  return file.toString('latin1', at, at + 4);
}

function readFormat(chunk: Buffer): Format {
  if (chunk.length < 16) throw new Unreadable(400, 'The WAV file is cut short');
  const plain = chunk.readUInt16LE(0);
  const code = plain === extensible && chunk.length >= 26 ? chunk.readUInt16LE(24) : plain;
  const channels = chunk.readUInt16LE(2);
  const sampleRate = chunk.readUInt32LE(4);
  const bits = chunk.readUInt16LE(14);
  const integer = code === pcm && [8, 16, 24, 32].includes(bits);
  const float = code === ieeeFloat && bits === 32;
  if (!integer && !float) throw new Unreadable(415, 'Only uncompressed WAV files are understood');
  if (channels < 1 || channels > 2) throw new Unreadable(415, 'Only one or two channels are understood');
  if (sampleRate < 4_000 || sampleRate > 192_000) {
    throw new Unreadable(415, 'Only sample rates from 4 to 192 kHz are understood');
  }
  return { encoding: integer ? 'integer' : 'float', channels, sampleRate, bits };
}

function soundBytes(file: Buffer, start: number, size: number): Buffer {
  if (unknownLengths.includes(size)) return file.subarray(start);
  if (start + size > file.length) throw new Unreadable(400, 'The WAV file is cut short');
  return file.subarray(start, start + size);
}

function mix(bytes: Buffer, format: Format): Float32Array {
  const width = format.bits / 8;
  const frameBytes = width * format.channels;
  const samples = new Float32Array(Math.floor(bytes.length / frameBytes));
  const read = sampleReader(bytes, format);
  for (let frame = 0; frame < samples.length; frame += 1) {
    let sum = 0;
    for (let channel = 0; channel < format.channels; channel += 1)
      sum += read(frame * frameBytes + channel * width);
    samples[frame] = sum / format.channels;
  }
  return samples;
}

function sampleReader(bytes: Buffer, { encoding, bits }: Format): (at: number) => number {
  if (encoding === 'float') return (at) => finite(bytes.readFloatLE(at));
  // Eight bits are the one width that WAV stores without a sign.
  if (bits === 8) return (at) => (bytes.readUInt8(at) - 128) / 128;
  return (at) => bytes.readIntLE(at, bits / 8) / 2 ** (bits - 1);
}

function finite(value: number): number {
  return Number.isFinite(value) ? Math.max(-1, Math.min(1, value)) : 0;
}
