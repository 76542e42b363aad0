import { isUtf8 } from 'node:buffer';
import { isObject } from '../content/is-object.ts';
import { suggest } from '../config/wording.ts';
import { JsonProblem, parseStrictJson } from '../content/strict-json.ts';
import { readLabels, readQuota } from './compact-fields.ts';
import type { ImportLine } from './import-keys.ts';
import type { WrittenFields } from './key-fields.ts';
import { keyJsonBounds } from './key-limits.ts';
import { invalidFields, KeyProblem } from './key-problem.ts';

export type ImportForm = 'csv' | 'json';

const lineBytesMax = 64 * 1024;

/**
 * Reads keys from CSV with a heading, or from JSON lines: what is said, or else what the first character that is no blank tells.
 * Lines are counted from 1. A line that makes no sense is passed on as a fault; none of its text is.
 */
export async function* readImport(
  chunks: AsyncIterable<Uint8Array>,
  form?: ImportForm,
): AsyncGenerator<ImportLine> {
  let readLine: ((line: string) => WrittenFields) | undefined;
  for await (const line of splitLines(chunks)) {
    if ('fault' in line) {
      yield line;
    } else if (line.text.trim() === '') {
      continue;
    } else if (readLine !== undefined) {
      yield attempt(line, readLine);
    } else if (form === 'json' || (form === undefined && line.text.trimStart().startsWith('{'))) {
      readLine = readJson;
      yield attempt(line, readLine);
    } else {
      readLine = createCsvReader(line.text);
    }
  }
}

function attempt({ number, text }: TextLine, readLine: (line: string) => WrittenFields): ImportLine {
  try {
    return { number, fields: readLine(text) };
  } catch (error) {
    if (error instanceof KeyProblem) return { number, fault: error.message };
    throw error;
  }
}

function readJson(line: string): WrittenFields {
  try {
    const value = parseStrictJson(Buffer.from(line), keyJsonBounds);
    if (isObject(value)) return value;
  } catch (error) {
    if (!(error instanceof JsonProblem)) throw error;
  }
  throw malformed('is no JSON object, or holds a field twice');
}

const listOf = (cell: string): string[] => cell.split(';').map((item) => item.trim());

/** How the cells of each column are read. An empty cell says nothing. */
const columns = {
  secret: String,
  hash: String,
  id: String,
  name: String,
  owner: String,
  plan: String,
  scopes: listOf,
  labels: (cell: string) => readLabels(listOf(cell)),
  networks: listOf,
  quotas: (cell: string) => listOf(cell).map(readQuota),
  notBefore: String,
  expiresAt: String,
  enabled: (cell: string) => (cell === 'true' ? true : cell === 'false' ? false : cell),
} as const satisfies Record<string, (cell: string) => unknown>;

type Column = keyof typeof columns;

function createCsvReader(heading: string): (line: string) => WrittenFields {
  const names = splitCells(heading).map((cell) => cell.trim());
  const known = Object.keys(columns);
  const unknown = names.find((name) => !known.includes(name));
  if (unknown !== undefined) {
    // A file without a heading has a key in its first line, so what stands there is not repeated.
    const cure = suggest(/^[A-Za-z_]{1,16}$/.test(unknown) ? unknown : '', known);
    const separators = /[;\t]/.test(unknown) ? '; columns are separated by commas' : '';
    throw malformed(
      `the first line must name the columns, and one of its names is not known${cure}${separators}`,
    );
  }
  if (new Set(names).size < names.length) throw malformed('the first line names a column twice');
  return function readRow(line) {
    const cells = splitCells(line);
    if (cells.length !== names.length) throw malformed(`has ${cells.length} cells and not ${names.length}`);
    const fields = names.flatMap((name, at) => {
      const cell = cells[at] ?? '';
      return cell === '' ? [] : [[name, columns[name as Column](cell)] as const];
    });
    return Object.fromEntries(fields);
  };
}

/** The cells of a line (RFC 4180); a quoted cell ends in the line it began in. */
function splitCells(line: string): string[] {
  const cells: string[] = [];
  let at = 0;
  do {
    if (line[at] === '"') {
      const match = /"((?:[^"]|"")*)"(?=,|$)/y;
      match.lastIndex = at;
      const quoted = match.exec(line);
      if (quoted === null) throw malformed('has a quote that is not closed');
      cells.push((quoted[1] ?? '').replaceAll('""', '"'));
      at = match.lastIndex;
    } else {
      const end = line.indexOf(',', at);
      cells.push(line.slice(at, end < 0 ? undefined : end));
      at = end < 0 ? line.length : end;
    }
    at += 1;
  } while (at <= line.length);
  return cells;
}

interface TextLine {
  readonly number: number;
  readonly text: string;
}

interface FaultyLine {
  readonly number: number;
  readonly fault: string;
}

/**
 * Splits bytes into lines, and never holds more than one line and one chunk of them. Latin-1 has a character for each byte, so
 * what is not UTF-8 spoils its own line and no other.
 */
async function* splitLines(chunks: AsyncIterable<Uint8Array>): AsyncGenerator<TextLine | FaultyLine> {
  let rest = '';
  let number = 0;
  for await (const chunk of chunks) {
    const parts = (
      rest + Buffer.from(chunk.buffer, chunk.byteOffset, chunk.byteLength).toString('latin1')
    ).split('\n');
    rest = parts.pop() ?? '';
    for (const part of parts) yield decodeLine((number += 1), part);
    // One byte too many is kept of a line that is too long: it is told by that at its end.
    rest = rest.slice(0, lineBytesMax + 1);
  }
  if (rest !== '') yield decodeLine(number + 1, rest);
}

function decodeLine(number: number, latin1: string): TextLine | FaultyLine {
  if (latin1.length > lineBytesMax) return { number, fault: `is longer than ${lineBytesMax} bytes` };
  const bytes = Buffer.from(latin1, 'latin1');
  if (!isUtf8(bytes)) return { number, fault: 'is not UTF-8' };
  const text = bytes.toString().replace(/\r$/, '');
  return { number, text: number === 1 ? text.replace(/^\uFEFF/, '') : text };
}

function malformed(message: string): KeyProblem {
  return invalidFields([{ field: '', message }]);
}
