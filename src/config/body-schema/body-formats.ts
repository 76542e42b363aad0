import { domainToASCII } from 'node:url';
import addFormats from 'ajv-formats';
import type { Ajv2020 } from 'ajv/dist/2020.js';
import { isObject } from '../../content/is-object.ts';

/** Adds the formats of JSON Schema 2020-12 and of OpenAPI, as their standards have them. */
export function addBodyFormats(ajv: Ajv2020): void {
  addFormats.default(ajv);
  readUrlsQuickly(ajv);
  ajv.addFormat('byte', isBase64);
  ajv.addFormat('int64', { type: 'number', validate: isInt64 });
  for (const [name, pattern] of Object.entries(stricter)) {
    const test = testOf(ajv.formats[name]);
    if (test) ajv.addFormat(name, (text: string) => pattern.test(text) && test(text));
  }
  for (const [name, [ascii, toAscii]] of Object.entries(international)) {
    const test = testOf(ajv.formats[ascii]);
    if (test) ajv.addFormat(name, (text: string) => test(toAscii(text)));
  }
  boundFormats(ajv);
}

/**
 * The expression of ajv-formats tries every `:` of a user with every `@`, so 2 KB took 50 ms. What comes before the `@` may have
 * colons anyway: without that part the same texts fit, in linear time. White space is ruled out first: a part that begins with a
 * slash is then always the last.
 */
function readUrlsQuickly(ajv: Ajv2020): void {
  const { source, flags } = ajv.formats['url'] as RegExp;
  const url = new RegExp(source.replace(String.raw`\S+(?::\S*)?@`, String.raw`\S+@`), flags);
  ajv.addFormat('url', (text: string) => !/\s/.test(text) && url.test(text));
}

const scheme = String.raw`[a-z][a-z\d+.-]*:`;
/** A path, or `//` and an authority (RFC 3986 §3). ajv-formats takes `//a:b` for a path, and `/[::1]` for an authority. */
const hierarchy = String.raw`(?:(?!//)[^[\]?#]*|//(?:[^/?#@]*@)?(?:\[[^/?#]*\]|[^/?#@:]*)(?::\d*)?(?:/[^?#]*)?)(?:[?#]|$)`;

/** What else a text has to be: ajv-formats takes more than the standards do. */
const stricter: Readonly<Record<string, RegExp>> = {
  // RFC 3339 §5.6. Any white space is taken for the T, and an offset without minutes.
  'date-time': /^.{10}T.*(?:Z|[+-]\d\d:\d\d)$/i,
  time: /(?:Z|[+-]\d\d:\d\d)$/i,
  // RFC 9562 §4: `urn:uuid:` in front makes a URN of it.
  uuid: /^[0-9a-f]{8}-/i,
  uri: RegExp(`^${scheme}${hierarchy}`, 'i'),
  // RFC 3986 §2, and §4.2: what stands before a colon would be a scheme.
  'uri-reference': RegExp(`^(?=[^\\s"<>\\\\^\`{|}]*$)(?:${scheme}|(?![^/?#]*:))${hierarchy}`, 'i'),
};

/** For each format, the one that its text has once it is written in ASCII, and what writes it so. */
const international: Readonly<Record<string, readonly [string, (text: string) => string]>> = {
  iri: ['uri', withoutAlphabets],
  'iri-reference': ['uri-reference', withoutAlphabets],
  'idn-email': ['email', withoutAlphabets],
  'idn-hostname': ['hostname', hostToAscii],
};

/** The characters that an IRI has beyond those of a URI (RFC 3987 §2.2) may stand wherever a letter may. */
function withoutAlphabets(text: string): string {
  return text.replace(/[\u{a0}-\u{d7ff}\u{f900}-\u{fdcf}\u{fdf0}-\u{ffef}\u{10000}-\u{efffd}]/gu, 'a');
}

/** Empty for what cannot be a name of a host. */
function hostToAscii(text: string): string {
  if (/^[!-~]*$/.test(text)) return text;
  const isName = /^[-.0-9a-z\u{80}-\u{10ffff}]*$/iu.test(text) && !/(?:^|\.)-|-(?:\.|$)/.test(text);
  return isName ? domainToASCII(text) : '';
}

function isInt64(value: number): boolean {
  return Number.isInteger(value) && value >= -(2 ** 63) && value < 2 ** 63;
}

/**
 * No string of a format may be longer, so that none takes long. `maxLength` and `pattern` are checked before `format`, so a schema
 * can be stricter.
 */
const formatLengthMax = 2048;

const formatLengthMaxes: Readonly<Record<string, number>> = {
  // Base64 and opaque text are long by nature.
  byte: Infinity,
  binary: Infinity,
  password: Infinity,
  // The engine takes cubic time to read `(?<a>a)|(?<a>a)|…`: 7 ms for 2 KB, and a body can hold many.
  regex: 512,
};

/**
 * RFC 4648 §4, as OpenAPI means `byte`. The expression of ajv-formats looks at one line of several, and 4 MB overflow its stack.
 */
function isBase64(text: string): boolean {
  return text.length % 4 === 0 && /^[A-Za-z0-9+/]*={0,2}$/.test(text);
}

function boundFormats(ajv: Ajv2020): void {
  for (const [name, format] of Object.entries(ajv.formats)) {
    const lengthMax = formatLengthMaxes[name] ?? formatLengthMax;
    const test = testOf(format);
    if (test) ajv.addFormat(name, (text: string) => text.length <= lengthMax && test(text));
  }
}

function testOf(format: unknown): ((text: string) => boolean) | undefined {
  if (format instanceof RegExp) return (text) => format.test(text);
  if (typeof format === 'function') return (text) => Boolean(format(text));
  return isObject(format) && format['type'] !== 'number' ? testOf(format['validate']) : undefined;
}
