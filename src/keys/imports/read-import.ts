import { counted, suggest } from '../../config/wording.ts';
import { isObject } from '../../content/is-object.ts';
import { JsonProblem, parseStrictJson } from '../../content/strict-json.ts';
import { readLabels, readQuota } from '../compact-fields.ts';
import type { WrittenFields } from '../key-fields.ts';
import { keyJsonBounds } from '../key-limits.ts';
import { BrokenFile, invalidField, KeyProblem } from '../key-problem.ts';
import type { ImportLine } from './import-keys.ts';
import { splitRecords, type ImportForm, type TextRecord } from './split-records.ts';

/**
 * Reads keys from CSV with a heading, or from JSON lines. Lines are counted from 1. One that makes no sense is passed on as a
 * fault, without any of its text.
 */
export async function* readImport(
  chunks: AsyncIterable<Uint8Array>,
  form?: ImportForm,
): AsyncGenerator<ImportLine> {
  let readRow: Reader | undefined;
  for await (const record of splitRecords(chunks, form)) {
    if (record.form === 'json') yield attempt(record, readJson);
    else if (readRow === undefined) readRow = readHeading(record);
    else yield attempt(record, readRow);
  }
}

type Reader = (text: string) => WrittenFields;

/** No later line can be the heading, whatever it holds. */
function readHeading(record: TextRecord): Reader {
  const { number } = record;
  if ('fault' in record) throw new BrokenFile(number, record.fault);
  try {
    return createCsvReader(record.text);
  } catch (error) {
    if (error instanceof KeyProblem) throw new BrokenFile(number, error.message);
    throw error;
  }
}

function attempt(record: TextRecord, read: Reader): ImportLine {
  const { number } = record;
  if ('fault' in record) return { number, fault: record.fault };
  try {
    return { number, fields: read(record.text) };
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
  throw malformed('is not a JSON object, or holds a field twice');
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
  // Spreadsheets write TRUE and FALSE.
  enabled: (cell: string) => (/^true$/i.test(cell) ? true : /^false$/i.test(cell) ? false : cell),
} as const satisfies Record<string, (cell: string) => unknown>;

type Column = keyof typeof columns;

function createCsvReader(heading: string): Reader {
  const names = splitCells(heading);
  const known = Object.keys(columns);
  const unknownAt = names.findIndex((name) => !known.includes(name));
  const unknown = names[unknownAt];
  if (unknown !== undefined) {
    // A file without a heading has a key in its first line, so its content is not repeated.
    const cure = suggest(unknown, known);
    const separators = /[;\t]/.test(unknown) ? '; columns are separated by commas' : '';
    throw malformed(
      `must name the columns, and the name of column ${unknownAt + 1} is not known${cure}${separators}`,
    );
  }
  if (new Set(names).size < names.length) throw malformed('names a column twice');
  return function readRow(record) {
    const cells = splitCells(record);
    if (cells.length !== names.length)
      throw malformed(`has ${counted(cells.length, 'cell')} and not ${names.length}`);
    const fields = names.flatMap((name, at) => {
      const cell = cells[at] ?? '';
      return cell === '' ? [] : [[name, columns[name as Column](cell)] as const];
    });
    return Object.fromEntries(fields);
  };
}

/** The cells of a record (RFC 4180). Blanks around one without quotes are dropped: people write them, and no field needs them. */
function splitCells(record: string): string[] {
  const cells: string[] = [];
  let at = 0;
  do {
    if (record[at] === '"') {
      const match = /"((?:[^"]|"")*)"(?=,|$)/y;
      match.lastIndex = at;
      const quoted = match.exec(record);
      if (quoted === null) throw malformed('has a quote that is not closed');
      cells.push((quoted[1] ?? '').replaceAll('""', '"'));
      at = match.lastIndex;
    } else {
      const end = record.indexOf(',', at);
      const cell = record.slice(at, end < 0 ? undefined : end).trim();
      if (cell.startsWith('"')) throw malformed('has a blank in front of a quote');
      cells.push(cell);
      at = end < 0 ? record.length : end;
    }
    at += 1;
  } while (at <= record.length);
  return cells;
}

function malformed(message: string): KeyProblem {
  return invalidField('', message);
}
