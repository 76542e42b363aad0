import { globSync, mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join, sep } from 'node:path';
import { pathToFileURL } from 'node:url';

const written = join(import.meta.dirname, '../node_modules/.cache/gatehouse-tests');

/** These look at the heap of their process. */
const alone = [join('unit', 'commands', 'heap'), join('unit', 'upstream', 'join-sockets')];

/**
 * Every test file, or in the place of those that share a process one that imports them: half of what the small files of a folder
 * below `unit` cost was the start of their processes and the loading of what they test. A file or folder that is named has a
 * process for each file.
 */
export function wholeSuite(): readonly string[] {
  const files = globSync('**/*.test.ts', { cwd: import.meta.dirname }).toSorted();
  return [...Map.groupBy(files, processOf)].map(([name, its]) => {
    const paths = its.map((file) => join(import.meta.dirname, file));
    return paths.length > 1 ? writeSharer(name, paths) : (paths[0] ?? '');
  });
}

function processOf(file: string): string {
  if (!file.startsWith('unit') || alone.some((start) => file.startsWith(start))) return file;
  return dirname(file).split(sep).slice(0, 2).join('-');
}

/** All are loaded before the first test runs. */
function writeSharer(name: string, paths: readonly string[]): string {
  const guard = join(import.meta.dirname, 'helpers/fail-unless-all-ran.ts');
  const imports = [guard, ...paths].map((path) => `import '${pathToFileURL(path).href}';\n`);
  const sharer = join(written, `${name}.mjs`);
  mkdirSync(written, { recursive: true });
  writeFileSync(sharer, imports.join(''));
  return sharer;
}
