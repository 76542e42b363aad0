let segmenter: Intl.Segmenter | undefined;
const wide =
  /[\p{Script=Han}\p{Script=Hangul}\p{Script=Hiragana}\p{Script=Katakana}\p{Emoji_Presentation}\u{FE0F}\u{FF01}-\u{FF60}]/u;
/** What nearly all texts are made of, each of one column. */
const plain = /^[\x20-\x7e]*$/;

/** How many columns of a terminal a text takes: two for what is written in CJK, and for emoji. */
export function columnsOf(text: string): number {
  if (plain.test(text)) return text.length;
  let columns = 0;
  for (const { segment } of charactersOf(text)) columns += wide.test(segment) ? 2 : 1;
  return columns;
}

/** A text of at most so many columns, with "…" in place of what is too much. No character is cut in two. */
export function shorten(text: string, columnsMax: number): string {
  if (columnsOf(text) <= columnsMax) return text;
  let kept = '';
  for (const { segment } of charactersOf(text)) {
    if (columnsOf(kept + segment) >= columnsMax) break;
    kept += segment;
  }
  return `${kept}…`;
}

/** As people count them. What takes them apart takes 20 ms to make, which a command that shows none of them need not wait for. */
function charactersOf(text: string): Intl.Segments {
  segmenter ??= new Intl.Segmenter('en', { granularity: 'grapheme' });
  return segmenter.segment(text);
}
