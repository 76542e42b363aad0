import { styleText } from 'node:util';

let segmenter: Intl.Segmenter | undefined;
/** Wide by UAX #11: CJK with its marks, syllables, full-width forms, and what is shown as an emoji. */
const wide =
  /[\u{1100}-\u{115F}\u{2E80}-\u{303E}\u{3041}-\u{A4CF}\u{AC00}-\u{D7A3}\u{F900}-\u{FAFF}\u{FE30}-\u{FE4F}\u{FF01}-\u{FF60}\u{FFE0}-\u{FFE6}\u{20000}-\u{3FFFD}\p{Emoji_Presentation}\u{FE0F}]/u;
/** The characters of nearly all texts, one column each. */
const plain = /^[\x20-\x7e→≤…]*$/;

/** How many columns of a terminal a text takes: two for each CJK character or emoji. */
function columnsOf(text: string): number {
  if (plain.test(text)) return text.length;
  let columns = 0;
  for (const { segment } of charactersOf(text)) columns += wide.test(segment) ? 2 : 1;
  return columns;
}

/** A text of at most `columnsMax` columns, with "…" in place of the rest. No character is cut in two. */
export function shorten(text: string, columnsMax: number): string {
  if (columnsOf(text) <= columnsMax) return text;
  let kept = '';
  for (const { segment } of charactersOf(text)) {
    if (columnsOf(kept + segment) >= columnsMax) break;
    kept += segment;
  }
  return `${kept}…`;
}

/** How wide the columns of a table are that comes in parts. Each part widens them where it must, and none makes them narrower. */
export type Widths = number[];

/** A table for people, with a dim heading. */
export function printTable(
  heading: readonly string[],
  rows: readonly (readonly string[])[],
  stream: NodeJS.WritableStream,
  widths?: Widths,
): string {
  const [first = '', ...rest] = alignRows([heading, ...rows], widths);
  return `${[styleText('dim', first, { stream }), ...rest].join('\n')}\n`;
}

/** Rows with their cells aligned, without trailing blanks. */
export function alignRows(rows: readonly (readonly string[])[], widths: Widths = []): readonly string[] {
  for (const row of rows) {
    for (const [at, cell] of row.entries()) widths[at] = Math.max(widths[at] ?? 0, columnsOf(cell));
  }
  return rows.map((row) =>
    row
      .map((cell, at) => cell + ' '.repeat((widths[at] ?? 0) - columnsOf(cell)))
      .join('  ')
      .trimEnd(),
  );
}

/** As people count them. The segmenter takes 20 ms to make, which a command that shows only plain text need not wait for. */
function charactersOf(text: string): Intl.Segments {
  segmenter ??= new Intl.Segmenter('en', { granularity: 'grapheme' });
  return segmenter.segment(text);
}
