import { isUtf8 } from 'node:buffer';
import { keyBytesMax } from '../key-limits.ts';
import { BrokenFile } from '../key-problem.ts';

export type ImportForm = 'csv' | 'json';

/** A line of a file, or as many lines of CSV as a quoted cell holds together. Its number is that of its first line. */
export type TextRecord = {
  readonly number: number;
  /** Undefined where nothing but blanks has been seen, of a record that is too long. */
  readonly form: ImportForm | undefined;
} & ({ readonly text: string } | { readonly fault: string });

/**
 * Splits bytes into records, blank ones left out, and never holds more than one of them and one chunk. The form is the given one,
 * or the one that the first non-blank character shows. Throws at a quote that is not closed: what follows may be the text of a
 * cell, and its author would choose keys.
 */
export async function* splitRecords(
  chunks: AsyncIterable<Uint8Array>,
  form?: ImportForm,
): AsyncGenerator<TextRecord> {
  const splitter = new Splitter(form);
  for await (const chunk of chunks) {
    const [piece = '', ...pieces] = latin1Of(chunk).split('\n');
    splitter.take(piece);
    for (const next of pieces) {
      const record = splitter.breakLine();
      if (record !== undefined) yield record;
      splitter.take(next);
    }
  }
  const last = splitter.end();
  if (last !== undefined) yield last;
}

class Splitter {
  #form: ImportForm | undefined;
  #place: Place = 'start';
  #taken = '';
  #first = 1;
  #number = 1;
  #hasBegun = false;

  constructor(form: ImportForm | undefined) {
    this.#form = form;
  }

  take(piece: string): void {
    if (this.#form !== 'json')
      for (const character of piece) this.#place = placeAfter(this.#place, character);
    // Of a record that is too long one byte too many is kept, which shows at its end.
    const room = keyBytesMax + 1 - this.#taken.length;
    this.#taken += piece.slice(0, room);
    if (piece.length > room) this.#refuseLongHeading();
  }

  /** Of a device such as /dev/zero it has no end. */
  #refuseLongHeading(): void {
    if (this.#hasBegun) return;
    this.#begin();
    if (this.#form === 'csv') throw new BrokenFile(this.#first, tooLong);
  }

  /** Ends a line: the record that ends with it, if one does that is not blank. */
  breakLine(): TextRecord | undefined {
    this.#number += 1;
    this.#begin();
    if (this.#form === 'csv' && this.#place === 'quoted' && this.#taken.length <= keyBytesMax) {
      this.take('\n');
      return undefined;
    }
    return this.#finish();
  }

  /** Ends the file: its last record, if that is not blank. */
  end(): TextRecord | undefined {
    this.#begin();
    return this.#finish();
  }

  /** Looks at the first line that is not blank. */
  #begin(): void {
    if (this.#hasBegun) return;
    const line = this.#taken.replace(/^\u00EF\u00BB\u00BF/, '').trim();
    const [first] = line;
    if (first === undefined) return;
    this.#hasBegun = true;
    const fault = this.#form === 'csv' ? undefined : faultOfWhole(line);
    if (fault !== undefined) throw new BrokenFile(this.#first, fault);
    this.#form ??= first === '{' ? 'json' : 'csv';
  }

  #finish(): TextRecord | undefined {
    const number = this.#first;
    if (this.#form === 'csv') this.#refuseUnclosed(number);
    const read = decode(this.#taken, number === 1);
    this.#place = 'start';
    this.#taken = '';
    this.#first = this.#number;
    const isBlank = 'text' in read && read.text.trim() === '';
    return isBlank ? undefined : { number, form: this.#form, ...read };
  }

  #refuseUnclosed(number: number): void {
    if (this.#place !== 'quoted' && this.#place !== 'torn') return;
    let further = '';
    // Whether it was closed too early or not at all cannot be told.
    if (this.#place === 'torn') further = ', or text behind the end of a quoted cell';
    else if (this.#taken.length > keyBytesMax) further = ` within ${keyBytesMax} bytes`;
    throw new BrokenFile(number, `has a quote that is not closed${further}; nothing from there on was read`);
  }
}

/**
 * Where one stands in a record of CSV (RFC 4180). It is torn when a cell goes on after its last quote: where such a record ends
 * cannot be known.
 */
type Place = 'start' | 'plain' | 'quoted' | 'afterQuote' | 'return' | 'torn';

function placeAfter(place: Place, character: string): Place {
  if (place === 'quoted') return character === '"' ? 'afterQuote' : 'quoted';
  if (place === 'return' || place === 'torn') return 'torn';
  if (character === ',') return 'start';
  if (place === 'afterQuote') {
    // A second quote makes both one character of the cell, and what ends the line may be CRLF.
    if (character === '"') return 'quoted';
    return character === '\r' ? 'return' : 'torn';
  }
  // In the middle of a cell a quote is a character like any other.
  if (place === 'plain') return 'plain';
  // A quote behind blanks is refused, but what it holds is no record either.
  if (character === ' ' || character === '\t') return 'start';
  return character === '"' ? 'quoted' : 'plain';
}

const tooLong = `is longer than ${keyBytesMax} bytes`;

/** Whether JSON that begins like this is no file of lines: a list never is, however it is printed. */
function faultOfWhole(firstLine: string): string | undefined {
  if (firstLine.startsWith('['))
    return 'begins a list: write one JSON object per line, without [ ] around them';
  if (firstLine !== '{') return undefined;
  return 'begins an object that goes on below: write each on a line of its own, as "jq -c" does';
}

/** Latin-1 has a character for each byte, so what is not UTF-8 spoils only its own record. */
function latin1Of({ buffer, byteOffset, byteLength }: Uint8Array): string {
  return Buffer.from(buffer, byteOffset, byteLength).toString('latin1');
}

function decode(latin1: string, isFirst: boolean): { readonly text: string } | { readonly fault: string } {
  // A file may have millions of empty lines, and an empty buffer takes longer to make than a short one.
  if (latin1 === '') return { text: '' };
  if (latin1.length > keyBytesMax) return { fault: tooLong };
  const bytes = Buffer.from(latin1, 'latin1');
  if (!isUtf8(bytes)) return { fault: 'is not UTF-8' };
  const text = bytes.toString().replace(/\r$/, '');
  return { text: isFirst ? text.replace(/^\uFEFF/, '') : text };
}
