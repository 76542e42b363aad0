import type { Sound } from './wav.ts';

/** What the pitch of a voice suggests. */
export interface VoiceGuess {
  /** The median over all voiced frames; null when nothing in the sound has a pitch. */
  readonly fundamentalHz: number | null;
  readonly durationSeconds: number;
  readonly guess: 'female' | 'male' | 'unknown';
  readonly probability: number | null;
}

const lowestHz = 60;
const highestHz = 500;
/** Pitch needs no more than this rate, and every halving quarters the work. */
const enoughRate = 16_000;
/** However long the sound is, this many frames spread over it are looked at. */
const framesMax = 200;
/** Below this loudness (root mean square) a frame is silence. */
const silence = 0.005;
/** How far from exactly periodic a voiced frame may be, as in the YIN paper, with room for a noisy room. */
const aperiodicityMax = 0.25;

/** Guesses from the fundamental frequency: typical adult voices part at about 165 Hz. */
export function guessByVoice(sound: Sound): VoiceGuess {
  const durationSeconds = Number((sound.samples.length / sound.sampleRate).toFixed(3));
  const fundamental = estimateFundamental(sound);
  if (fundamental === undefined) {
    return { fundamentalHz: null, durationSeconds, guess: 'unknown', probability: null };
  }
  const female = 1 / (1 + Math.exp((165 - fundamental) / 15));
  return {
    fundamentalHz: Number(fundamental.toFixed(1)),
    durationSeconds,
    guess: female > 0.5 ? 'female' : 'male',
    probability: Number(Math.max(female, 1 - female).toFixed(3)),
  };
}

/** The median pitch of the voiced frames in Hz; undefined when there is none. */
function estimateFundamental(sound: Sound): number | undefined {
  const { samples, sampleRate } = slowDown(sound);
  const lagMax = Math.ceil(sampleRate / lowestHz);
  const frameLength = 2 * lagMax;
  const hop = Math.max(lagMax, Math.ceil((samples.length - frameLength) / framesMax));
  const pitches: number[] = [];
  for (let start = 0; start + frameLength <= samples.length; start += hop) {
    const lag = periodOf(samples.subarray(start, start + frameLength), Math.floor(sampleRate / highestHz));
    if (lag !== undefined) pitches.push(sampleRate / lag);
  }
  return pitches.toSorted((a, b) => a - b)[Math.floor(pitches.length / 2)];
}

/** Averages neighbouring samples, which also takes off the high frequencies that would fold back as noise. */
function slowDown({ samples, sampleRate }: Sound): Sound {
  const factor = Math.max(1, Math.floor(sampleRate / enoughRate));
  const slow = new Float32Array(Math.floor(samples.length / factor));
  for (let i = 0; i < slow.length; i += 1) {
    let sum = 0;
    for (let k = 0; k < factor; k += 1) sum += samples[i * factor + k] ?? 0;
    slow[i] = sum / factor;
  }
  return { samples: slow, sampleRate: sampleRate / factor };
}

/**
 * The period of a frame in samples, after YIN (de Cheveigné and Kawahara, 2002): the first lag at which the frame
 * differs from itself clearly less than at the lags beside it. Low values at an end of the range, without a bottom
 * in it, are the flank of a pitch beyond. Undefined when the frame is silent or has no pitch.
 */
function periodOf(frame: Float32Array, lagMin: number): number | undefined {
  const lagMax = frame.length / 2;
  const energy = frame.reduce((sum, sample) => sum + sample * sample, 0);
  if (Math.sqrt(energy / frame.length) < silence) return undefined;
  const differences = normalisedDifferences(frame, lagMax);
  for (let lag = lagMin; lag < lagMax; lag += 1) {
    const [before, middle, after] = [differences[lag - 1]!, differences[lag]!, differences[lag + 1]!];
    if (middle >= aperiodicityMax || middle > before || middle > after) continue;
    return lag + vertexOffset(before, middle, after);
  }
  return undefined;
}

function normalisedDifferences(frame: Float32Array, lagMax: number): Float32Array {
  const differences = new Float32Array(lagMax + 1);
  differences[0] = 1;
  let total = 0;
  for (let lag = 1; lag <= lagMax; lag += 1) {
    let sum = 0;
    for (let i = 0; i < lagMax; i += 1) sum += (frame[i]! - (frame[i + lag] ?? 0)) ** 2;
    total += sum;
    differences[lag] = total === 0 ? 1 : (sum * lag) / total;
  }
  return differences;
}

/** Where between three neighbours the lowest point of the parabola through them lies, from -0.5 to 0.5. */
function vertexOffset(before: number, middle: number, after: number): number {
  const curve = before - 2 * middle + after;
  return curve <= 0 ? 0 : Math.max(-0.5, Math.min(0.5, (before - after) / (2 * curve)));
}
