import { globSync, mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { pathToFileURL } from 'node:url';

const written = join(import.meta.dirname, '../node_modules/.cache/gatehouse-tests');

/**
 * Folders whose tests share one process each: half of what these small files cost was the start of their processes and the loading
 * of what they test. Elsewhere tests look at the process itself. A file or folder that is named has a process for each file.
 */
const sharing: ReadonlySet<string> = new Set(
  (
    'admin bench bodies collections commands config config/body-schema content door examples gateway keys quota ' +
    'quota/leases stages telemetry uploads waiting wire'
  )
    .split(' ')
    .map((folder) => join('unit', folder)),
);

/** Every test file, or in the place of those that share a process one that imports them. */
export function wholeSuite(): readonly string[] {
  const files = globSync('**/*.test.ts', { cwd: import.meta.dirname }).toSorted();
  return [...Map.groupBy(files, dirname)].flatMap(([folder, its]) => {
    const paths = its.map((file) => join(import.meta.dirname, file));
    return sharing.has(folder) ? [writeSharer(folder, paths)] : paths;
  });
}

/** All are loaded before the first test runs. */
function writeSharer(folder: string, paths: readonly string[]): string {
  const guard = join(import.meta.dirname, 'helpers/fail-unless-all-ran.ts');
  const imports = [guard, ...paths].map((path) => `import '${pathToFileURL(path).href}';\n`);
  const sharer = join(written, `${folder.replaceAll(/\W/g, '-')}.mjs`);
  mkdirSync(written, { recursive: true });
  writeFileSync(sharer, imports.join(''));
  return sharer;
}
