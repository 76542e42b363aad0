/** Control and formatting characters would play tricks on the terminals and logs that show them (CVE-2021-25743). */
const unprintable = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cs}]/gu;

/** Whether a text shows as what it is. */
export function isPrintable(text: string): boolean {
  return text.search(unprintable) < 0;
}

/** A text that somebody else wrote, as it may be shown. */
export function printable(text: string): string {
  return text.replace(unprintable, '\uFFFD');
}
