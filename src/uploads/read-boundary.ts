import { ambiguous, unsupported } from './upload-refusals.ts';

/**
 * Takes the boundary from a request's Content-Type, which must be exactly `multipart/form-data` with one boundary and, at most,
 * `charset=utf-8`. Parsers differ over repeated and extended (`boundary*`) parameters, escapes, spaces and upper case (to Tornado
 * 6 `Multipart/Form-Data` is not a form, so it sees no file either).
 */
export function readBoundary(contentType: string | undefined): string {
  const match = contentType === undefined ? null : mediaType.exec(contentType);
  if (!match) throw unsupported('The request body must be multipart/form-data');
  if (match[0] !== 'multipart/form-data') throw ambiguous('multipart/form-data must be in lower case');
  let rest = (contentType ?? '').slice(match[0].length);
  let boundary: string | undefined;
  let charset: string | undefined;
  while (rest !== '') {
    const found = parameter.exec(rest);
    if (!found) throw ambiguous('the Content-Type must hold one boundary and nothing else');
    const [text, name, bare, quoted] = found;
    const value = bare ?? quoted ?? '';
    if (name === 'boundary' && boundary === undefined) boundary = value;
    else if (name === 'charset' && charset === undefined) charset = value;
    else throw ambiguous('the Content-Type must hold one boundary and nothing else');
    rest = rest.slice(text.length);
  }
  if (charset !== undefined && charset.toLowerCase() !== 'utf-8')
    throw ambiguous('the charset must be utf-8');
  if (boundary === undefined)
    throw ambiguous('the Content-Type has no boundary, so leave this header to what writes the form');
  if (!plainBoundary.test(boundary))
    throw ambiguous('the boundary must be of letters, digits and . + _ -, 70 at most');
  return boundary;
}

const mediaType = /^multipart\/form-data(?=;|$| ;)/i;

const parameter = /^; ?([a-z]+)=(?:([^\s;"]+)|"([^"\\]+)")/;

/**
 * What clients write, out of the bchars of RFC 2046 §5.1.1. At a comma, an equals sign or a quote some parsers cut it (Rack 2,
 * CGI.pm, Python's email): with boundary `Z,Q` they read a second form inside a file. Dashes alone are not a boundary.
 */
const plainBoundary = /^(?=.*[0-9A-Za-z])[\w.+-]{1,70}$/;
