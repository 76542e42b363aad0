import { ambiguous, UploadProblem } from './upload-problem.ts';

/**
 * Takes the boundary from a request's Content-Type, which must be exactly `multipart/form-data` with one boundary and,
 * at most, `charset=utf-8`. Parsers differ over repeated and extended (`boundary*`) parameters, escapes and spaces.
 */
export function readBoundary(contentType: string | undefined): string {
  const match = contentType === undefined ? null : mediaType.exec(contentType);
  if (!match) throw notAForm();
  let rest = (contentType ?? '').slice(match[0].length);
  let boundary: string | undefined;
  let charset: string | undefined;
  while (rest !== '') {
    const found = parameter.exec(rest);
    if (!found) throw ambiguous('the Content-Type must hold one boundary and nothing else');
    const [text, name = '', bare, quoted] = found;
    const value = bare ?? quoted ?? '';
    if (name.toLowerCase() === 'boundary' && boundary === undefined) boundary = value;
    else if (name.toLowerCase() === 'charset' && charset === undefined) charset = value;
    else throw ambiguous('the Content-Type must hold one boundary and nothing else');
    rest = rest.slice(text.length);
  }
  if (charset !== undefined && charset.toLowerCase() !== 'utf-8')
    throw ambiguous('the charset must be utf-8');
  if (boundary === undefined) throw ambiguous('the Content-Type has no boundary');
  if (!legalBoundary.test(boundary)) throw ambiguous('the boundary is not legal');
  return boundary;
}

// --- Internal ---

const mediaType = /^multipart\/form-data(?=;|$| ;)/i;

/** A bare value keeps to the characters that are both token (RFC 9110 §5.6.2) and bchar (RFC 2046 §5.1.1). */
const parameter = /^ ?; ?([a-z]+)=(?:([\w'+.-]+)|"([\w'()+,./:=?-]+)")/i;

/** RFC 2046 §5.1.1 bchars without the space, which parsers trim differently; a row of dashes alone is no boundary. */
const legalBoundary = /^(?=.*[0-9A-Za-z])[\w'()+,./:=?-]{1,70}$/;

function notAForm(): UploadProblem {
  return new UploadProblem('file_unsupported', 'The request body must be multipart/form-data');
}
