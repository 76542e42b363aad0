import type { FileHandle } from 'node:fs/promises';
import { piecesOf } from '../bodies/body.ts';
import type { SpoolConfig } from '../config/config.ts';
import { codeOf } from '../content/error-code.ts';
import { CollectedBytes } from '../wire/collected-bytes.ts';
import { letGo } from '../wire/let-go.ts';
import { openUnnamed, writeAll } from './unnamed-file.ts';
import { busy } from './upload-refusals.ts';

/** What all uploads of one process may hold together, in bytes. */
export interface SpoolLimits extends SpoolConfig {
  /** What any upload may hold in memory: a larger one goes to a file, in pieces of about this size. */
  readonly pieceMax: number;
  /** An upload that declares no more than this is held in memory whole. */
  readonly wholeMax: number;
}

/** Opens spools that share one set of limits. One per process. */
export interface SpoolRoom {
  /** For an upload of this declared length, if it has one. */
  readonly open: (length?: number) => Spool;
  readonly memoryBytes: () => number;
  readonly memoryMax: number;
  readonly diskBytes: () => number;
  readonly diskMax: number;
}

/** The folder for uploads cannot be written to, as found out when the gateway starts. */
export class SpoolUnavailable extends Error {
  constructor(directory: string, cause: unknown) {
    const why = 'it is not a folder that can be written to';
    super(`uploads cannot wait in ${directory} (spool.directory): ${why}`, { cause });
    this.name = 'SpoolUnavailable';
  }
}

/** Makes the room in which the uploads of a process wait. */
export function createSpoolRoom(limits: SpoolLimits): SpoolRoom {
  const usage = { memory: 0, disk: 0, secondTries: Promise.resolve() };
  return {
    open: (length) => new Spool(length, limits, usage),
    memoryBytes: () => usage.memory,
    memoryMax: limits.memoryMax,
    diskBytes: () => usage.disk,
    diskMax: limits.diskMax,
  };
}

interface Usage {
  memory: number;
  disk: number;
  /** Of writes that found no room on the disk. */
  secondTries: Promise<void>;
}

/** How much is read of a file at a time: each read is two trips between threads. */
const readBytes = 256 * 1024;

const diskFull = 'the disk is full';

/** What the system has run out of, or allows no more of, by its error. A fault of the folder is another matter. */
const lacks: ReadonlyMap<unknown, string> = new Map([
  ['ENOSPC', diskFull],
  ['EDQUOT', diskFull],
  ['EFBIG', 'the system lets no file become so large'],
  ['EMFILE', 'too many files are open'],
  ['ENFILE', 'too many files are open'],
]);

/** Holds one upload until it is known whether it may go on. */
export class Spool {
  readonly #limits: SpoolLimits;
  readonly #usage: Usage;
  readonly #heldMax: number;
  /** The last bytes: all of them until there is a file. */
  readonly #held: CollectedBytes;
  #file: FileHandle | undefined;
  /** What this spool has taken of the room. Memory stays its own until it is closed. */
  #memory = 0;
  #disk = 0;
  #closed = false;

  constructor(length: number | undefined, limits: SpoolLimits, usage: Usage) {
    const { pieceMax, wholeMax } = limits;
    this.#limits = limits;
    this.#usage = usage;
    this.#heldMax = length !== undefined && length <= wholeMax ? Math.max(length, pieceMax) : pieceMax;
    this.#held = new CollectedBytes(this.#heldMax);
  }

  /**
   * One at a time, and none after one that failed. Throws `spool_full` when the process holds as much as it may, or when the disk does.
   */
  async write(chunk: Buffer): Promise<void> {
    if (this.#takeMemory(this.#held.length + chunk.length)) {
      // Copied, because the memory of a chunk is taken away when the next is asked for.
      this.#held.add(chunk);
    } else {
      await this.#writeToDisk([this.#held.bytes, chunk]);
      this.#held.clear();
    }
  }

  /** How much was written, until it is closed. */
  size(): number {
    return this.#disk + this.#held.length;
  }

  /** Lets go of memory and file. Safe to call more than once, and at any time but during a write. */
  async close(): Promise<void> {
    this.#closed = true;
    this.#held.take();
    this.#usage.memory -= this.#memory;
    this.#memory = 0;
    await this.#dropFile();
  }

  async #dropFile(): Promise<void> {
    const [file, disk] = [this.#file, this.#disk];
    // The room is taken until the file is closed. Who closes the spool once more meanwhile must not give it back a second time.
    this.#file = undefined;
    this.#disk = 0;
    // Nobody needs what a network file system fails to write at the end.
    await file?.close().catch(() => undefined);
    this.#usage.disk -= disk;
  }

  /** Takes what is missing to hold so many bytes. False when they are more than it may hold. */
  #takeMemory(bytes: number): boolean {
    const missing = Math.max(0, bytes - this.#memory);
    if (bytes > this.#heldMax || this.#usage.memory + missing > this.#limits.memoryMax) return false;
    this.#usage.memory += missing;
    this.#memory += missing;
    return true;
  }

  async #writeToDisk(chunks: readonly Buffer[]): Promise<void> {
    const size = chunks.reduce((sum, { length }) => sum + length, 0);
    if (this.#usage.disk + size > this.#limits.diskMax) {
      // Now, not when its file is closed: until then every other upload would ask for more and fail as well.
      this.#usage.disk -= this.#disk;
      this.#disk = 0;
      throw busy('the limit of the process is reached');
    }
    const position = this.#disk;
    this.#usage.disk += size;
    this.#disk += size;
    const write = (): Promise<void> => this.#writeToFile(chunks, position);
    try {
      await write().catch((error: unknown) => this.#tryAgain(write, error));
    } catch (error) {
      const lack = lackOf(error);
      throw lack === undefined ? error : busy(lack);
    }
  }

  async #writeToFile(chunks: readonly Buffer[], position: number): Promise<void> {
    this.#file ??= await openUnnamed(this.#limits.directory);
    await writeAll(this.#file, chunks, position);
  }

  /**
   * Second tries go one after another. A spool that still finds no room drops its file, which makes room for the next; all at once,
   * all would fail.
   */
  async #tryAgain(write: () => Promise<void>, error: unknown): Promise<void> {
    if (lackOf(error) !== diskFull) throw error;
    const tried = this.#usage.secondTries.then(write).catch(async (failure: unknown) => {
      await this.#dropFile();
      throw failure;
    });
    this.#usage.secondTries = tried.catch(() => undefined);
    await tried;
  }

  /**
   * Reads from the first byte, every time it is called. The spool must stay open meanwhile, and is closed at the end: an upload waits
   * for its answer longer than it is read. A chunk is the reader's until it asks for the next.
   */
  async *read(): AsyncGenerator<Buffer, void> {
    if (this.#closed) throw closed();
    const fileBytes = this.#disk;
    // One for all reads: a new one each time would be more memory than is held (50 MB with 50 large uploads).
    const buffer = Buffer.allocUnsafeSlow(fileBytes === 0 ? 0 : readBytes);
    let position = 0;
    while (position < fileBytes) {
      if (!this.#file) throw closed();
      const { bytesRead } = await this.#file.read(buffer, 0, readBytes, position);
      if (bytesRead === 0) throw new Error('the spool file is shorter than what was written');
      position += bytesRead;
      yield buffer.subarray(0, bytesRead);
    }
    letGo(buffer);
    if (this.#closed) throw closed();
    yield* piecesOf(this.#held.bytes);
    // Left to the collector, buffers of this size make V8 collect the whole heap for them: then nothing is gained by memory.
    this.#held.letGo();
    void this.close();
  }
}

function closed(): Error {
  return new Error('the spool is closed');
}

function lackOf(error: unknown): string | undefined {
  return lacks.get(codeOf(error));
}
