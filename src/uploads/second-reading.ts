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

  /** Resolves when the parser has taken the chunk, so that it never holds more than one. */
  async write(chunk: Buffer): Promise<void> {
    await this.#step((done) => this.#parser.write(chunk, () => done()));
    this.#compare();
    // They differ by one part at most: one has begun it, or not yet ended it.
    if (Math.abs(this.#expected.length - this.#found.length) > 1) throw disagreement();
  }

  async end(): Promise<void> {
    await this.#step(() => this.#parser.end());
    this.#compare();
    if (this.#expected.length > 0 || this.#found.length > 0) throw disagreement();
  }

  close(): void {
    this.#parser.destroy();
  }

  /** Compares the parts that both have read, and forgets them. */
  #compare(): void {
    const open = this.#found.findIndex(({ whole }) => !whole);
    const count = Math.min(this.#expected.length, open === -1 ? this.#found.length : open);
    if (count === 0) return;
    const [expected, found] = [this.#expected.splice(0, count), this.#found.splice(0, count)];
    if (!expected.every((fact, index) => agree(fact, found[index]))) throw disagreement();
  }

  readonly #fail = (): void => {
    this.#failed = true;
    this.#proceed?.();
  };

  /** Waits until the step has reported or the parser has failed: after a failure its callbacks never come. */
  async #step(action: (done: () => void) => void): Promise<void> {
    if (!this.#failed) {
      await new Promise<void>((resolve) => {
        this.#proceed = resolve;
        action(resolve);
      });
    }
    if (this.#failed) throw disagreement();
  }
}

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
