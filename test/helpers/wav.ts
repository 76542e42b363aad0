import { createRandom } from './random.ts';

/** How a test's WAV file is written. */
export interface WavFormat {
  readonly encoding?: 'integer' | 'float';
  readonly bits?: number;
  readonly channels?: number;
  readonly sampleRate?: number;
}

/** A tone: its strength over time is given by its harmonics, the first being the fundamental. */
export function tone(
  hz: number,
  { seconds = 0.5, sampleRate = 16_000, harmonics = [1], noise = 0 } = {},
): Float32Array {
  const random = createRandom(1);
  const loudest = harmonics.reduce((sum, strength) => sum + strength, noise);
  return Float32Array.from({ length: Math.round(seconds * sampleRate) }, (_, i) => {
    const wave = harmonics.reduce(
      (sum, strength, n) => sum + strength * Math.sin((2 * Math.PI * hz * (n + 1) * i) / sampleRate),
      noise * (2 * random() - 1),
    );
    return (0.8 * wave) / loudest;
  });
}

/** Writes the samples as a WAV file, the same ones on every channel. */
export function encodeWav(samples: Float32Array, format: WavFormat = {}): Buffer {
  const { encoding = 'integer', bits = 16, channels = 1, sampleRate = 16_000 } = format;
  const width = bits / 8;
  const data = Buffer.alloc(samples.length * channels * width);
  samples.forEach((sample, frame) => {
    for (let channel = 0; channel < channels; channel += 1) {
      const at = (frame * channels + channel) * width;
      if (encoding === 'float') data.writeFloatLE(sample, at);
      else if (bits === 8) data.writeUInt8(Math.round(sample * 127) + 128, at);
      else data.writeIntLE(Math.round(sample * (2 ** (bits - 1) - 1)), at, width);
    }
  });
  const fmt = Buffer.alloc(16);
  fmt.writeUInt16LE(encoding === 'float' ? 3 : 1, 0);
  fmt.writeUInt16LE(channels, 2);
  fmt.writeUInt32LE(sampleRate, 4);
  fmt.writeUInt32LE(sampleRate * channels * width, 8);
  fmt.writeUInt16LE(channels * width, 12);
  fmt.writeUInt16LE(bits, 14);
  return riff(['fmt ', fmt], ['data', data]);
}

/** A RIFF WAVE file of these chunks. */
export function riff(...chunks: readonly (readonly [tag: string, content: Buffer])[]): Buffer {
  const parts = chunks.flatMap(([tag, content]) => {
    const size = Buffer.alloc(4);
    size.writeUInt32LE(content.length);
    return [Buffer.from(tag, 'latin1'), size, content, Buffer.alloc(content.length % 2)];
  });
  const body = Buffer.concat([Buffer.from('WAVE'), ...parts]);
  const size = Buffer.alloc(4);
  size.writeUInt32LE(body.length);
  return Buffer.concat([Buffer.from('RIFF'), size, body]);
}
