import { isFieldName } from '../content/form-names.ts';
import { isPrintable } from '../content/printable.ts';
import { fold, isStripped } from '../wire/headers.ts';
import { isNetwork, notNetwork, parseAddress } from './addresses.ts';
import { instantPattern, notInstant, parseInstant } from './instants.ts';
import { nameCure, namePattern } from './name-pattern.ts';
import { parseStoreAddress, StoreAddressError } from './parse-store-address.ts';
import {
  anchorPattern,
  isTimeZone,
  parseAnchor,
  parsePercent,
  parseTime,
  percentPattern,
  timePattern,
} from './period-words.ts';
import { quotaNameFault, quotaNamePattern } from './quota-names.ts';
import { basePathFault, pathFault } from './route-path.ts';
import { durationMsMax, durationPattern, parseDuration, parseSize, sizePattern } from './units.ts';
import { notVisible } from './weak-secret.ts';

interface Format {
  /** What is wrong with the text, to be read after the text itself; undefined when nothing is. It never repeats the text. */
  readonly fault: (text: string) => string | undefined;
  /** For editors, which know nothing of `fault`. It may accept more, never less. */
  readonly pattern?: string | undefined;
}

/** Visible ASCII, and no fragment, which is never sent. */
const askedPath = matching('^/[!-"$-~]*$', 'is not a path to ask for, write /healthz');

/** The kinds of text the schema tells apart by `format`. */
export const formats = {
  duration: { fault: (text) => durationFault(text, 1), pattern: durationPattern },
  'duration-or-zero': { fault: (text) => durationFault(text, 0), pattern: durationPattern },
  size: { fault: sizeFault, pattern: sizePattern },
  address: readable(parseAddress, 'is not an address, write 0.0.0.0:8080, "[::]:8080" or 8080'),
  network: fitting(isNetwork, notNetwork),
  instant: readable(parseInstant, notInstant, instantPattern),
  store: { fault: storeFault, pattern: '^[A-Za-z]+(\\+[A-Za-z]+)?:' },
  'quota-name': { fault: quotaNameFault, pattern: quotaNamePattern },
  timezone: fitting(isTimeZone, 'is not a time zone, write UTC or an IANA name such as Europe/Berlin'),
  anchor: readable(
    parseAnchor,
    'is not the start of a period, write a weekday such as monday, a day such as 15, or a month and day such as 04-01',
    anchorPattern,
  ),
  time: readable(parseTime, 'is not a time of the day, write "06:00"', timePattern),
  percent: readable(parsePercent, 'is not a part of the limit, write 1% to 100%', percentPattern),
  workers: matching('^auto$', 'is not a number of workers, write 1, 2, … or auto'),
  origin: { fault: originFault, pattern: '^https?://[^/?#@\\s]+/?$' },
  // Two names for one text: by them docs/options.md tells which may also be a mapping.
  health: askedPath,
  'health-path': askedPath,
  host: matching('^[A-Za-z0-9.:_[\\]-]{1,255}$', 'is not a host, write example.com or example.com:8080'),
  link: fitting(
    (text) => /^https?:\/\/[\x21-\x7e]+$/.test(text) && !/[<>"\\]/.test(text) && URL.canParse(text),
    'is not a link, write a whole URL such as https://example.com/changes',
    '^https?://',
  ),
  'header-name': { fault: (text) => headerNameFault(text, 'a key', 'apiKey or [apiKey, X-API-Key]') },
  'cost-header': { fault: (text) => headerNameFault(text, 'a cost', 'X-Cost') },
  'base-path': { fault: basePathFault, pattern: '^/' },
  path: { fault: pathFault, pattern: '^/' },
  name: matching(namePattern, `is not a name, ${nameCure}`),
  'key-prefix': matching(
    '^[A-Za-z]([A-Za-z0-9_]{0,30}[A-Za-z0-9])?$',
    'is not a prefix, use up to 32 letters, digits and "_", a letter first and no "_" last',
  ),
  visible: fitting((text) => /^[\x21-\x7e]*$/.test(text), notVisible),
  title: fitting(
    (text) => /^[\x21-\x7e]([\x20-\x7e]*[\x21-\x7e])?$/.test(text),
    'must be visible ASCII characters',
  ),
  line: fitting(isPrintable, 'holds characters that cannot be seen'),
  digest: matching('^sha256:[0-9a-fA-F]{64}$', 'must be sha256: and 64 hexadecimal digits'),
  none: matching('^none$', 'is not a body rule, write none, json: {…}, upload: {…}, file: {…} or any: {…}'),
  upgrade: matching('^(none|websocket)$', 'is not an upgrade, write none, websocket or websocket: {…}'),
  'media-type': fitting(
    (text) => /^(?:[a-z0-9][\w!#$&^.+-]*\/(?:[a-z0-9][\w!#$&^.+-]*|\*)|\*\/\*)$/i.test(text),
    'is not a media type, write audio/wav or audio/*',
    '^[^/;\\s]+/[^/;\\s]+$',
  ),
  extension: matching('^[a-z0-9]{1,16}$', 'is not an extension, write it in lower case without a dot: wav'),
  'field-name': { fault: fieldNameFault },
} as const satisfies Record<string, Format>;

export type FormatName = keyof typeof formats;

/** The format of that name in the schema. */
export function formatOf(name: unknown): Format | undefined {
  return typeof name === 'string' && Object.hasOwn(formats, name) ? formats[name as FormatName] : undefined;
}

/** For text that is right or wrong. */
function fitting(isFine: (text: string) => boolean, fault: string, pattern?: string): Format {
  return { fault: (text) => (isFine(text) ? undefined : fault), pattern };
}

/** For text that has to be read. */
function readable(read: (text: string) => unknown, fault: string, pattern?: string): Format {
  return fitting((text) => read(text) !== undefined, fault, pattern);
}

/** For text that the pattern alone decides. */
function matching(pattern: string, fault: string): Format {
  const whole = new RegExp(pattern);
  return fitting((text) => whole.test(text), fault, pattern);
}

/** Headers passed on that describe a body, speak to a proxy or make a handshake. */
const takenPrefixes = ['content-', 'proxy-', 'sec-websocket-'];
/** `User-Agent` is in every log line. */
const takenHeaders: ReadonlySet<string> = new Set(['cookie', 'set-cookie', 'user-agent']);

/** Why the gateway's own data, such as the key, cannot travel in this header. */
function headerNameFault(name: string, what: string, example: string): string | undefined {
  // A dash in front is refused, though HTTP allows it: it begins a list in YAML and lacks the space after it.
  if (!/^(?!-)[!#$%&'*+.^_`|~0-9A-Za-z-]{1,100}$/.test(name)) return `is not a header name, write ${example}`;
  const folded = fold(name);
  const isTaken =
    isStripped(folded) ||
    takenHeaders.has(folded) ||
    takenPrefixes.some((prefix) => folded.startsWith(prefix));
  return isTaken ? `is a header with a meaning of its own, ${what} cannot travel in it` : undefined;
}

/** The form reader takes no other names, so every form with one would be refused. */
function fieldNameFault(text: string): string | undefined {
  if (!/^[^\p{C}\s"\\;=&%<>]{1,256}$/u.test(text))
    return 'is not a field name, use up to 256 visible characters without " \\ ; = & % < >';
  return isFieldName(text) ? undefined : 'is a name that parsers of forms read differently, choose another';
}

function storeFault(text: string): string | undefined {
  try {
    parseStoreAddress(text);
    return undefined;
  } catch (error) {
    if (!(error instanceof StoreAddressError)) throw error;
    return `is not a store address: ${error.message}`;
  }
}

function durationFault(text: string, least: number): string | undefined {
  if (/^\d+$/.test(text)) return 'has no unit, write 250ms, 10s or 5m';
  if (!new RegExp(durationPattern).test(text)) return 'is not a duration, write 250ms, 10s, 5m, 2h or 7d';
  const value = parseDuration(text);
  if (value === undefined || value > durationMsMax) return 'is too long, the longest is 24d';
  return value < least ? 'must be longer than nothing' : undefined;
}

function sizeFault(text: string): string | undefined {
  if (/^\d+$/.test(text)) return 'has no unit, write 512B, 16KB or 10MB';
  if (!new RegExp(sizePattern).test(text)) return 'is not a size, write 512B, 16KB, 10MB or 1GB';
  const value = parseSize(text);
  if (value === undefined) return 'is too large';
  return value === 0 ? 'must be more than nothing' : undefined;
}

function originFault(text: string): string | undefined {
  const advice = 'write an origin such as http://127.0.0.1:9000';
  if (!/^https?:\/\//.test(text)) return `is not an http or https address, ${advice}`;
  const rest = text.slice(text.indexOf('//') + 2);
  if (rest.includes('@')) return `must not carry credentials, ${advice}`;
  if (/[/?#\\]/.test(rest.replace(/\/$/, '')))
    return `must not have a path or a query (basePath is for a path), ${advice}`;
  const url = /^[\x21-\x7e]+$/.test(rest) ? URL.parse(text) : null;
  return url === null || url.port === '0' ? `is not a valid address, ${advice}` : undefined;
}
