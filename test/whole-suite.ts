import { globSync, mkdirSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { dirname, join, sep } from 'node:path';
import { pathToFileURL } from 'node:url';

const written = join(import.meta.dirname, '../node_modules/.cache/gatehouse-tests');

/** These look at the heap of their process. */
const alone = [join('unit', 'commands', 'heap'), join('unit', 'upstream', 'streamed', 'join-sockets')];

/** Of the shares of `unit` this one waits for most of its time. */
const waiting = 'unit-upstream';

/**
 * For each process of the suite a file that imports its tests. They are called so that `node --test`, which goes by the alphabet,
 * starts them in this order: those of `e2e` and `integration` wait for much, and what only computes comes when there are few of
 * them left; the largest of a folder come first, so that none is at work alone in the end.
 */
export function wholeSuite(): readonly string[] {
  rmSync(written, { recursive: true, force: true });
  mkdirSync(written, { recursive: true });
  const files = globSync('**/*.test.ts', { cwd: import.meta.dirname }).toSorted();
  const shares = [...Map.groupBy(files, processOf)].map(([name, its]) => {
    const paths = its.map((file) => join(import.meta.dirname, file));
    const [folder = ''] = name === waiting ? ['e2e'] : name.split('-');
    return { name, folder, paths, bytes: paths.reduce((sum, path) => sum + statSync(path).size, 0) };
  });
  const inOrder = shares.toSorted((a, b) => a.folder.localeCompare(b.folder) || b.bytes - a.bytes);
  return inOrder.map(({ name, paths }, at) => writeShare(`${String(at).padStart(3, '0')}-${name}`, paths));
}

/**
 * The small files of a folder below `unit` share a process: half of what they cost was the start of their own and the loading of
 * what they test. A file or folder that is named has a process for each file.
 */
function processOf(file: string): string {
  if (file.startsWith('unit') && !alone.some((start) => file.startsWith(start)))
    return dirname(file).split(sep).slice(0, 2).join('-');
  return file.replaceAll(sep, '-').replace('.test.ts', '');
}

/** All are loaded before the first test runs. */
function writeShare(name: string, paths: readonly string[]): string {
  const share = join(written, `${name}.mjs`);
  const imports = [helper('fail-unless-all-ran'), ...paths.map(addressOf)].map((url) => `import '${url}';\n`);
  if (!name.includes('-unit')) {
    writeFileSync(share, imports.join(''));
    return share;
  }
  const tests = join(written, `tests-of-${name}.mjs`);
  writeFileSync(tests, imports.join(''));
  writeFileSync(share, `import '${helper('follow-no-promise')}';\nawait import('${addressOf(tests)}');\n`);
  return share;
}

function helper(name: string): string {
  return addressOf(join(import.meta.dirname, 'helpers', `${name}.ts`));
}

function addressOf(path: string): string {
  return pathToFileURL(path).href;
}
