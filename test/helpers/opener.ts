import { openStore } from '../../src/stores/open-store.ts';

/** What an opening process is told: files, and the moment (ms since 1970) at which to open the first; the others follow. */
export interface OpenerTask {
  readonly files: readonly string[];
  readonly firstAt: number;
  readonly everyMs: number;
}

// A process that opens new files at the very moments at which others do, and tells its parent what went wrong.
process.once('message', (message) => void openAll(message as OpenerTask));

async function openAll({ files, firstAt, everyMs }: OpenerTask): Promise<void> {
  const problems: string[] = [];
  for (const [index, file] of files.entries()) {
    while (Date.now() < firstAt + index * everyMs) await Promise.resolve();
    try {
      const store = await openStore({ kind: 'sqlite', path: file }, { deadlineMs: 10_000 });
      await store.close();
    } catch (error) {
      problems.push(String(error));
    }
  }
  process.send?.(problems);
  process.disconnect?.();
}
