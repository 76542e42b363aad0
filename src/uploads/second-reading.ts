import type { BusboyInstance } from '@fastify/busboy';
import { UploadProblem } from './upload-problem.ts';

/** What one reading found a part to be. A part without a content type is `text/plain` (RFC 7578 §4.4). */
export interface PartFact {
  readonly kind: 'file' | 'field';
  readonly name: string;
  readonly fileName: string | undefined;
  readonly type: string;
  bytes: number;
}

/** Reads the same body with a second parser. */
export interface SecondReading {
  /** Resolves when the parser has taken the chunk, so that it never holds more than one. */
  readonly write: (chunk: Buffer) => Promise<void>;
  /** Throws `file_ambiguous` unless the parser found the same parts. */
  readonly end: (facts: readonly PartFact[]) => Promise<void>;
  readonly close: () => void;
}

/**
 * Has `@fastify/busboy` read what the canonical reader accepted. Its events do not show a dropped part, a folded header or
 * a repeated parameter, so it cannot be the only reader; but a fault in either shows as a disagreement between them.
 */
export async function createSecondReading(boundary: string): Promise<SecondReading> {
  // Loaded by the first upload: most gateways never need it.
  const { Busboy } = await import('@fastify/busboy');
  return new BusboyReading(
    new Busboy({
      headers: { 'content-type': `multipart/form-data; boundary="${boundary}"` },
      preservePath: true,
      limits: { fieldSize: Infinity },
    }),
  );
}

// --- Internal ---

class BusboyReading implements SecondReading {
  readonly #parser: BusboyInstance;
  readonly #facts: PartFact[] = [];
  #failed = false;
  /** Ends the step that is under way. */
  #proceed: (() => void) | undefined;

  constructor(parser: BusboyInstance) {
    this.#parser = parser;
    parser.on('error', this.#fail);
    parser.on('finish', () => this.#proceed?.());
    parser.on('field', (name, value, _nameCut, _valueCut, _encoding, type) => {
      this.#facts.push({ kind: 'field', name, fileName: undefined, type, bytes: Buffer.byteLength(value) });
    });
    parser.on('file', (name, stream, fileName, _encoding, type) => {
      const fact: PartFact = { kind: 'file', name, fileName, type, bytes: 0 };
      this.#facts.push(fact);
      stream.on('error', this.#fail);
      stream.on('data', (chunk: Buffer) => {
        fact.bytes += chunk.length;
      });
    });
  }

  async write(chunk: Buffer): Promise<void> {
    await this.#step((done) => this.#parser.write(chunk, () => done()));
  }

  async end(expected: readonly PartFact[]): Promise<void> {
    await this.#step(() => this.#parser.end());
    if (!agree(expected, this.#facts)) throw disagreement();
  }

  close(): void {
    this.#parser.destroy();
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

function agree(expected: readonly PartFact[], found: readonly PartFact[]): boolean {
  return (
    expected.length === found.length &&
    expected.every((fact, index) => {
      const other = found[index];
      return (
        other !== undefined &&
        fact.kind === other.kind &&
        fact.name === other.name &&
        fact.fileName === other.fileName &&
        fact.type === other.type &&
        fact.bytes === other.bytes
      );
    })
  );
}

function disagreement(): UploadProblem {
  return new UploadProblem('file_ambiguous', 'The form can be read in two ways', 'a second parser disagrees');
}
