import { isUtf8 } from 'node:buffer';
import { listed } from '../config/wording.ts';
import { isFieldName } from '../content/form-names.ts';
import { ambiguous } from './upload-refusals.ts';

/** What the headers of a part say. A part with a file name is a file, one without is a text field. */
export interface PartHeader {
  readonly name: string;
  readonly fileName: string | undefined;
  /** Lower case, without parameters; no text field has one. */
  readonly type: string | undefined;
  /** The part's own Content-Length. Some clients send it; it is checked, never trusted. */
  readonly length: number | undefined;
  /** How the name Content-Disposition is written. */
  readonly spelling: string;
}

/**
 * Reads the header lines of one part, without the empty line that ends them. Each of the known ones may be there once; every other
 * form is one that some parser reads differently.
 */
export function readPartHeader(block: Buffer): PartHeader {
  if (!isUtf8(block)) throw ambiguous('a part header is not UTF-8');
  const headers = new Map<string, string>();
  let spelling = '';
  for (const line of block.toString('utf8').split('\r\n')) {
    const match = headerLine.exec(line);
    if (!match) throw ambiguous('a part header is not written as Name: value');
    const [, name = '', value = ''] = match;
    const key = known.get(name);
    if (key === undefined)
      throw ambiguous(
        `a part has a header other than ${listed('and', knownNames)}, or one in a mixture of cases`,
      );
    if (headers.has(key)) throw ambiguous('a part header is repeated');
    headers.set(key, value);
    if (key === 'content-disposition') spelling = name;
  }
  const { name, fileName } = readDisposition(headers.get('content-disposition'));
  const { type, charset } = readDeclaredType(headers.get('content-type'));
  if (formInForm.test(type ?? '')) throw ambiguous('a part must not be a form itself');
  // Some parsers take a part for a file by its file name, others (formidable 3) by its Content-Type.
  if (fileName === undefined && type !== undefined) {
    throw ambiguous('a part declares a content type but no file name');
  }
  // WebOb reads the file name in it: in UTF-7 `a+AC8-..+AC8-b` is a path. It knows no `binary`, which `file --mime` and PHP write.
  if (charset !== 'binary' && !isUtf8Charset(charset)) throw ambiguous('the charset of a part is not UTF-8');
  // formidable 3 reads a text field in it as in a charset.
  const encoding = headers.get('content-transfer-encoding');
  if (encoding !== undefined && (!plainEncodings.includes(encoding) || type === undefined))
    throw ambiguous(
      'a Content-Transfer-Encoding is not binary or 8bit, or not of a file with a content type',
    );
  return { name, fileName, type, length: readLength(headers.get('content-length')), spelling };
}

/** What a Content-Type says. */
interface DeclaredType {
  /** Lower case, without parameters. */
  readonly type: string | undefined;
  readonly charset: string | undefined;
}

/** Reads `type/subtype` and its parameters; undefined fields when there is no such header. */
export function readDeclaredType(value: string | undefined): DeclaredType {
  if (value === undefined) return { type: undefined, charset: undefined };
  const match = contentType.exec(value);
  const type = match?.[1]?.toLowerCase();
  if (type === undefined) throw ambiguous('a content type is not written as type/subtype; name=value');
  // Rack 2 looks for `filename=` in all headers of a part, and the last one counts.
  if (nameParameter.test(value)) throw ambiguous('a content type holds a name');
  const charsets = [...value.matchAll(/; ?charset=("?)([^";]*)\1/gi)].map((found) =>
    (found[2] ?? '').toLowerCase(),
  );
  if (charsets.length > 1) throw ambiguous('a content type has two charsets');
  return { type, charset: charsets[0] };
}

/** Whether what is declared to be in this charset, or in none, may be read as UTF-8. */
export function isUtf8Charset(charset: string | undefined): boolean {
  return charset === undefined || charset === 'utf-8' || charset === 'utf8' || charset === 'us-ascii';
}

// oxlint-disable-next-line no-control-regex
const headerLine = /^([A-Za-z-]+): ([^\x00-\x1f\x7f ](?:[^\x00-\x1f\x7f]*[^\x00-\x1f\x7f ])?)$/;

/** The last is written by Ruby's multipart-post, Apache's HttpClient and Symfony, and says what is so without it. */
const knownNames = ['Content-Disposition', 'Content-Type', 'Content-Length', 'Content-Transfer-Encoding'];

const plainEncodings: readonly string[] = ['binary', '8bit'];

/** CGI.pm 4 does not know them in any other case, and takes a file for a nameless text. */
const known = new Map(
  knownNames.flatMap((name) => {
    const key = name.toLowerCase();
    return [[name, key] as const, [key, key] as const];
  }),
);

/**
 * One spelling only: both values quoted, the name first, no escapes and no other parameter. A parser that looks for `name=` or
 * `filename=` with a pattern then finds the same values as one that reads the grammar.
 */
const disposition = /^form-data; name="([^"\\]*)"(?:; filename="([^"\\]*)")?$/;

/**
 * What some parsers read as a form itself. To Python's cgi a URL-encoded one lasts to the end of the body, whatever parts follow.
 */
const formInForm = /^(?:multipart\/|message\/|application\/x-www-form-urlencoded$)/;

/** What a parser that looks for names with a pattern takes for one. */
const nameParameter = /name\*?=/i;

/**
 * aiohttp 3 cuts the header at each semicolon and mends one such cut: with two it finds neither the name nor a file. Nor does it mend
 * a cut at the beginning, where `filename="` is the empty name to it, which makes a file with a `=` behind that a text.
 */
const cutBySemicolons = /^;|;.*;/;

/**
 * Browsers write a quote as %22; some parsers undo percent escapes (RFC 7578 §4.2), Django HTML entities. The last of them need no
 * semicolon, and stand for what no file name may hold.
 */
const escape = /%[0-9A-Fa-f]{2}|&#|&[A-Za-z][A-Za-z0-9]*;|&(?:[lg]t|LT|GT|quot|QUOT|nbsp|shy)/;

/** Type and subtype have 127 characters each at most (RFC 6838 §4.2). */
const contentType =
  /^([a-z0-9][\w!#$&^.+-]{0,126}\/[a-z0-9][\w!#$&^.+-]{0,126})(?:; ?[\w.+-]+=(?:[\w!#$&'*+.^`|~-]+|"[\x20\x21\x23-\x5b\x5d-\x7e]*"))*$/i;

function readDisposition(value: string | undefined): Pick<PartHeader, 'name' | 'fileName'> {
  const match = value === undefined ? null : disposition.exec(value);
  if (!match)
    throw ambiguous('a Content-Disposition is missing or not written as form-data; name="a"; filename="b"');
  const [, name = '', fileName] = match;
  if (!isFieldName(name)) throw ambiguous('a field name holds characters that parsers read differently');
  if (fileName !== undefined && (nameParameter.test(fileName) || escape.test(fileName))) {
    throw ambiguous('a file name holds name= or an escape such as %22, which parsers read differently');
  }
  if (fileName !== undefined && cutBySemicolons.test(fileName)) {
    throw ambiguous('a file name begins with a semicolon, or holds two');
  }
  return { name, fileName };
}

function readLength(value: string | undefined): number | undefined {
  if (value === undefined) return undefined;
  if (!/^(?:0|[1-9]\d*)$/.test(value)) throw ambiguous('a part has a malformed Content-Length');
  return Number(value);
}
