import type { BusboyInstance } from '@fastify/busboy';
import { Refusal } from '../refusals.ts';
import { loadLibrary } from './load-library.ts';

/** What one reading found a part to be. A part without a content type is `text/plain` (RFC 7578 §4.4). */
export interface PartFact {
  readonly kind: 'file' | 'field';
  readonly name: string;
  readonly fileName: string | undefined;
  readonly type: string;
  bytes: number;
}

interface FoundPart extends PartFact {
  whole: boolean;
}

/**
 * Lets `@fastify/busboy` read what the canonical reader accepted. Its events do not show a dropped part, a folded header or a
 * repeated parameter, so it cannot be the only reader; but a fault in either shows as a disagreement between them.
 */
export async function createSecondReading(boundary: string): Promise<SecondReading> {
  const { Busboy } = await loadLibrary(() => import('@fastify/busboy'));
  return new SecondReading(
    new Busboy({
      headers: { 'content-type': `multipart/form-data; boundary="${boundary}"` },
      preservePath: true,
      limits: { fieldSize: Infinity },
    }),
  );
}

/** Reads the same body with a second parser, after the first, and throws `file_ambiguous` unless it finds the same parts. */
class SecondReading {
  readonly #parser: BusboyInstance;
  /** What one reading has found and the other not yet. */
  readonly #expected: PartFact[] = [];
  readonly #found: FoundPart[] = [];
  #failed = false;
  /** Ends the step that is under way. */
  #proceed: (() => void) | undefined;

  constructor(parser: BusboyInstance) {
    this.#parser = parser;
    parser.on('error', this.#fail);
    parser.on('finish', () => this.#proceed?.());
    parser.on('field', (name, value, _nameCut, _valueCut, _encoding, type) => {
      const bytes = Buffer.byteLength(value);
      this.#found.push({ kind: 'field', name, fileName: undefined, type, bytes, whole: true });
    });
    parser.on('file', (name, stream, fileName, _encoding, type) => {
      const part: FoundPart = { kind: 'file', name, fileName, type, bytes: 0, whole: false };
      this.#found.push(part);
      stream.on('error', this.#fail);
      stream.on('data', (chunk: Buffer) => {
        part.bytes += chunk.length;
      });
      stream.on('end', () => {
        part.whole = true;
      });
    });
  }

  /** Call it for every part that the first reading has read to its end, before the chunk in which it ends is written. */
  expect(fact: PartFact): void {
    this.#expected.push(fact);
  }

  /**
   * Waits until the parser has taken the chunk, so that it never holds more than one. In the midst of a file it has at once, and there
   * is nothing to compare.
   */
  write(chunk: Buffer): Promise<void> | undefined {
    if (this.#failed) throw disagreement();
    const file = this.#expected.length === 0 && this.#found.length === 1 ? this.#found[0] : undefined;
    const before = file?.bytes;
    const taken = this.#step((done) => this.#parser.write(chunk, () => done()));
    const isOut = before !== undefined && hasComeOut(chunk.length, (file?.bytes ?? 0) - before);
    return isOut ? undefined : this.#compareAfter(taken);
  }

  async end(): Promise<void> {
    if (this.#failed) throw disagreement();
    await this.#compareAfter(this.#step(() => this.#parser.end()));
    if (this.#expected.length > 0 || this.#found.length > 0) throw disagreement();
  }

  /** Compares the parts that both have read once a step is over, and forgets them. */
  async #compareAfter(step: Promise<void>): Promise<void> {
    await step;
    if (this.#failed) throw disagreement();
    const open = this.#found.findIndex(({ whole }) => !whole);
    const count = Math.min(this.#expected.length, open === -1 ? this.#found.length : open);
    const [expected, found] = [this.#expected.splice(0, count), this.#found.splice(0, count)];
    if (!expected.every((fact, index) => agree(fact, found[index]))) throw disagreement();
    // The readings may differ by one part, which only one of them has begun, or ended. If they could differ by more, a part of an upload
    // that streams could reach the upstream whole before the end shows it, and those that only one of them finds would be kept until then.
    if (Math.abs(this.#expected.length - this.#found.length) > 1) throw disagreement();
  }

  readonly #fail = (): void => {
    this.#failed = true;
    this.#proceed?.();
  };

  /** Is over when the action has reported or the parser has failed: after a failure its callbacks never come. */
  #step(action: (done: () => void) => void): Promise<void> {
    return new Promise((resolve) => {
      this.#proceed = resolve;
      action(resolve);
    });
  }
}

/** Whether all of a large chunk is out of the parser again, but for what may begin a delimiter. */
function hasComeOut(bytesIn: number, bytesOut: number): boolean {
  return bytesIn >= largeChunk && bytesIn - bytesOut < delimiterMax;
}

const largeChunk = 1024;

/** CR LF, two dashes, and a boundary of 70 bytes. */
const delimiterMax = 74;

function agree(fact: PartFact, other: PartFact | undefined): boolean {
  return (
    fact.kind === other?.kind &&
    fact.name === other.name &&
    fact.fileName === other.fileName &&
    fact.type === other.type &&
    fact.bytes === other.bytes
  );
}

function disagreement(): Refusal {
  return new Refusal('file_ambiguous', {
    message: 'The form can be read in two ways',
    detail: 'a second parser disagrees',
  });
}
