const digestBytes = 32;
/** A record begins with its size, then its digest. */
const digestAt = 4;
const headBytes = digestAt + digestBytes;
/** How much of a text `deleteWhere` looks at. */
const startBytes = 80;

interface RecordRingOptions {
  readonly recordsMax: number;
  readonly bytesMax: number;
}

/**
 * Texts by their SHA-256 digest, in one block of memory that the collector never looks into. It is a ring: when it is full, what
 * was set first makes room. Memory becomes resident only as it is written.
 */
export class RecordRing {
  readonly #recordsMax: number;
  readonly #bytes: Buffer;
  /**
   * The table: where the record of a digest begins, plus one, at the slot that the digest's first bytes name or the next free one
   * after it. 0 where there is nothing. It is never more than half full, so there is always a free one.
   */
  readonly #places: Uint32Array;
  /** The digest that is asked about. */
  readonly #digest = Buffer.alloc(digestBytes);
  #records = 0;
  /** All bytes ever written, and those of them that have made room. Modulo the size they are offsets. */
  #written = 0;
  #passed = 0;

  constructor({ recordsMax, bytesMax }: RecordRingOptions) {
    this.#recordsMax = recordsMax;
    this.#bytes = Buffer.allocUnsafeSlow(bytesMax);
    this.#places = new Uint32Array(2 ** Math.ceil(Math.log2(2 * recordsMax)));
  }

  get(digest: string): string | undefined {
    const place = this.#places[this.#find(digest)] ?? 0;
    return place === 0 ? undefined : this.#textAt(place - 1);
  }

  /** A text larger than the whole ring is not kept. */
  set(digest: string, text: string): void {
    this.delete(digest);
    const size = headBytes + Buffer.byteLength(text);
    if (size > this.#bytes.length) return;
    const at = this.#begin(size);
    this.#places[this.#find(digest)] = at + 1;
    this.#bytes.writeUInt32LE(size, at);
    this.#digest.copy(this.#bytes, at + digestAt);
    this.#bytes.write(text, at + headBytes);
    this.#written += size;
    this.#records += 1;
  }

  delete(digest: string): void {
    this.#clear(this.#find(digest));
  }

  /** Judges by the start of each text, as Latin-1: reading 50,000 whole would take 20 ms. */
  deleteWhere(matches: (start: string) => boolean): void {
    for (let at = this.#passed; at < this.#written; at += this.#stepAt(at)) {
      if (this.#sizeAt(at) === 0 || !matches(this.#startAt(this.#offsetOf(at)))) continue;
      const slot = this.#slotAt(at);
      if (slot !== undefined) this.#clear(slot);
    }
  }

  /** Returns where a record of that size may be written. None is split: where too little is left, the next lap begins. */
  #begin(size: number): number {
    const left = this.#leftInLap(this.#written);
    if (size > left) {
      this.#makeRoom(left);
      if (left >= headBytes) this.#bytes.writeUInt32LE(0, this.#offsetOf(this.#written));
      this.#written += left;
    }
    this.#makeRoom(size);
    return this.#offsetOf(this.#written);
  }

  #makeRoom(size: number): void {
    const { length } = this.#bytes;
    while (this.#records === this.#recordsMax || this.#written + size - this.#passed > length)
      this.#passOldest();
  }

  #passOldest(): void {
    const slot = this.#slotAt(this.#passed);
    if (slot !== undefined) this.#clear(slot);
    this.#passed += this.#stepAt(this.#passed);
  }

  #offsetOf(position: number): number {
    return position % this.#bytes.length;
  }

  #leftInLap(position: number): number {
    return this.#bytes.length - this.#offsetOf(position);
  }

  /** How far it is to the next record. */
  #stepAt(position: number): number {
    return this.#sizeAt(position) || this.#leftInLap(position);
  }

  /** 0 where the lap ended early. */
  #sizeAt(position: number): number {
    if (this.#leftInLap(position) < headBytes) return 0;
    return this.#bytes.readUInt32LE(this.#offsetOf(position));
  }

  /** The slot of the record that was written there; undefined if there is none, or it was deleted, or set again. */
  #slotAt(position: number): number | undefined {
    if (this.#sizeAt(position) === 0) return undefined;
    const at = this.#offsetOf(position);
    for (let slot = this.#homeOf(this.#bytes, at + digestAt); ; slot = this.#after(slot)) {
      const place = this.#places[slot] ?? 0;
      if (place === 0) return undefined;
      if (place === at + 1) return slot;
    }
  }

  /** The slot of a digest, or the free one where it belongs. */
  #find(digest: string): number {
    if (this.#digest.write(digest, 'hex') !== digestBytes)
      throw new RangeError('this is not a SHA-256 digest');
    for (let slot = this.#homeOf(this.#digest, 0); ; slot = this.#after(slot)) {
      const place = this.#places[slot] ?? 0;
      if (place === 0 || this.#isAskedAbout(place - 1 + digestAt)) return slot;
    }
  }

  /** Whether the digest at that offset is the one that is asked about. Mostly the first bytes say no, without a call out of V8. */
  #isAskedAbout(at: number): boolean {
    if (this.#bytes.readUInt32LE(at) !== this.#digest.readUInt32LE(0)) return false;
    return this.#bytes.compare(this.#digest, 0, digestBytes, at, at + digestBytes) === 0;
  }

  #homeOf(bytes: Buffer, at: number): number {
    return bytes.readUInt32LE(at) & (this.#places.length - 1);
  }

  #after(slot: number): number {
    return (slot + 1) & (this.#places.length - 1);
  }

  /** Frees a slot. Entries that follow without a gap move up where they may, so that each is still found from its home. */
  #clear(slot: number): void {
    if (this.#places[slot] === 0) return;
    this.#records -= 1;
    let free = slot;
    for (let next = this.#after(slot); ; next = this.#after(next)) {
      const place = this.#places[next] ?? 0;
      if (place === 0) break;
      const home = this.#homeOf(this.#bytes, place - 1 + digestAt);
      if (this.#distance(home, next) < this.#distance(free, next)) continue;
      this.#places[free] = place;
      free = next;
    }
    this.#places[free] = 0;
  }

  #distance(from: number, to: number): number {
    return (to - from) & (this.#places.length - 1);
  }

  #startAt(at: number): string {
    const end = Math.min(at + this.#bytes.readUInt32LE(at), at + headBytes + startBytes);
    return this.#bytes.toString('latin1', at + headBytes, end);
  }

  #textAt(at: number): string {
    return this.#bytes.toString('utf8', at + headBytes, at + this.#bytes.readUInt32LE(at));
  }
}
