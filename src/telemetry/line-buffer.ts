/** Each piece goes to another thread and back, which for 8 KB was a twentieth of the time under load. */
const pieceBytes = 64 * 1024;
const handOverEveryMs = 200;
const bytesPerUnitMax = 6; // what one UTF-16 unit can become, in UTF-8 or escaped

/**
 * Writes lines one after another into a piece of memory, and hands it over when it is full, or 200 ms after its first line.
 * Collecting them in a string copies everything there, 30 KB and more, for each line that joins it.
 */
export class LineBuffer {
  readonly #take: (piece: Buffer) => void;
  #piece = Buffer.allocUnsafeSlow(pieceBytes);
  #used = 0;
  #timer: NodeJS.Timeout | undefined;

  constructor(take: (piece: Buffer) => void) {
    this.#take = take;
  }

  write(text: string): void {
    const bytesMax = text.length * bytesPerUnitMax;
    if (bytesMax > pieceBytes - this.#used) {
      this.handOver();
      if (bytesMax > pieceBytes) {
        this.#take(Buffer.from(escapeControls(text)));
        return;
      }
    }
    let bytes = this.#piece.write(text, this.#used);
    // A byte for each unit: all of it is ASCII, as nearly always, and JSON has escaped what needs it.
    if (bytes !== text.length) bytes = this.#piece.write(escapeControls(text), this.#used);
    this.#used += bytes;
    this.#timer ??= setTimeout(() => this.handOver(), handOverEveryMs).unref();
  }

  handOver(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    if (this.#used === 0) return;
    const piece = this.#piece.subarray(0, this.#used);
    // What waits for a blocked log pipe is counted by its bytes: a few lines must not hold a whole piece.
    const isFull = this.#used > pieceBytes / 2;
    if (isFull) this.#piece = Buffer.allocUnsafeSlow(pieceBytes);
    this.#used = 0;
    this.#take(isFull ? piece : Buffer.from(piece));
  }
}

/**
 * The lines contain what clients send. JSON lets the controls beyond ASCII pass, and a terminal may obey them (U+009B begins a
 * colour, or worse), or take them, and two more, for the end of a line.
 */
function escapeControls(text: string): string {
  return text.replace(/[\u0080-\u009F\u2028\u2029]/g, escapeUnit);
}

function escapeUnit(unit: string): string {
  return `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`;
}
