/** Whether a form field may have this name: what passes is the same to every parser. */
export function isFieldName(name: string): boolean {
  return (
    name.length <= 256 &&
    !/["\\;=&%<>]/.test(name) &&
    !unsafeText.test(name) &&
    name.trim() === name &&
    // aiohttp drops it, and so reads `/file` as `file`.
    !name.startsWith('/') &&
    // The first sets a charset in some parsers, the second a limit in PHP, in any letter case.
    !/^(?:_charset_|max_file_size)$/i.test(name) &&
    !name.includes('__proto__') &&
    // PHP drops a file with any other name, and those after it.
    /^[^[\]]+(?:\[[^[\]]*\][^[\]]*)*$/.test(name)
  );
}

/**
 * The same for all names that some parser takes for one: to PHP `my.file`, `my file` and `my_file[]` are all `my_file`, and the last
 * one counts; Netty takes `,file` and `file:` for `file`; .NET looks a file up in any letter case.
 */
export function looseFieldName(name: string): string {
  const bare = name.replace(/\[.*/s, '').replace(/[:,]/g, ' ').trim();
  return bare.replace(/[ .]/g, '_').toUpperCase();
}

/**
 * Control characters, lone surrogates, and marks that reorder or hide text on screen. The two joiners are left out: they are part
 * of some scripts and of many emoji.
 */
export const unsafeText = /[\p{Cc}\p{Cs}\u2028\u2029\ufff9-\uffff]|(?![\u200c\u200d])\p{Cf}/u;
