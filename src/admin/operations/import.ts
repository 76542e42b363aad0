import { setTimeout as pause } from 'node:timers/promises';
import { nothingImported, type ImportReport } from '../../keys/imports/import-keys.ts';
import { readImport } from '../../keys/imports/read-import.ts';
import { operation, type Operation } from '../operation.ts';
import { AdminProblem, problemOf } from '../problem.ts';
import { linesListedMax } from '../schemas.ts';

/** Keys from elsewhere, as a stream of lines. */
export const importOperations: readonly Operation[] = [
  operation({
    id: 'importKeys',
    method: 'POST',
    path: '/v1/import',
    tag: 'Keys',
    role: 'write',
    summary: 'take over keys from CSV or JSON lines, plain or hashed',
    description:
      'Each line is a key: the fields of `NewKey` and its `secret` or its `hash` (sha256:…). CSV begins with a line that names the columns; lists are separated by `;`, labels are `name=value`, quotas `monthly=5000`. Lines that are wrong are reported and the others go on; a quote of CSV that is not closed ends the import. With a `hash`, scopes may be given that are not among the routes. A key that is there is known by its secret and passed over, so an import that broke off can be sent again.',
    query: {
      plan: {
        description:
          'The plan of new keys whose lines name none; it may be left out where there is one plan alone.',
        type: 'string',
        maxLength: 200,
      },
      update: {
        description: 'Update existing keys to match the lines; otherwise they stay as they are.',
        type: 'boolean',
      },
    },
    body: { kind: 'lines' },
    answers: [{ status: 200, description: 'All lines were read.', schema: 'ImportReport' }],
    async handle({ query, lines, by }, { book }) {
      const faults: { line: number; problem: string }[] = [];
      const warnings: { line: number; problem: string }[] = [];
      let report = nothingImported;
      const options = {
        plan: query.plan,
        update: query.update ?? false,
        onFault(line: number, problem: string) {
          if (faults.length < linesListedMax) faults.push({ line, problem });
        },
        onWarning(line: number, problem: string) {
          if (warnings.length < linesListedMax) warnings.push({ line, problem });
        },
        onProgress: (sofar: ImportReport) => void (report = sofar),
      };
      try {
        await book.importKeys(readImport(paced(lines.chunks), lines.form), options, by);
        return { status: 200, body: { ...report, faults, warnings } };
      } catch (error) {
        const { code, message, headers, fields } = problemOf(error);
        if (code === 'internal') throw error;
        throw new AdminProblem(code, message, {
          headers,
          fields,
          extra: { report: { ...report, faults, warnings } },
        });
      }
    },
  }),
];

const workMs = 5;
/** What is split, read and judged before the time that it took is looked at. Of blank lines it holds two thousand. */
const pieceBytes = 2048;

/** Rests as long as it has worked, and the store too: this process may also serve the callers, and a million lines take long. */
async function* paced(chunks: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  let workedMs = 0;
  for await (const chunk of chunks) {
    for (let at = 0; at < chunk.length; at += pieceBytes) {
      const from = performance.now();
      yield chunk.subarray(at, at + pieceBytes);
      workedMs += performance.now() - from;
      if (workedMs < workMs) continue;
      await pause(workedMs);
      workedMs = 0;
    }
  }
}
