import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { copyFile, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { parseAllDocuments } from 'yaml';
import { loadConfig } from '../../src/config/load-config.ts';
import { commandHere } from '../helpers/command-here.ts';
import { removeStore } from '../helpers/sqlite-file.ts';
import { startGateway } from '../helpers/start-gateway.ts';
import { tempFolder } from '../helpers/temp-folder.ts';

const fileHere = (path: string): string => fileURLToPath(new URL(path, import.meta.url));

test('the configuration in the Kubernetes example is one that the gateway takes', async (t) => {
  const manifest = await readFile(fileHere('../../deploy/kubernetes.yaml'), 'utf8');
  const documents = parseAllDocuments(manifest).map(
    (document) => document.toJS() as { kind: string; data?: Record<string, string> },
  );
  const config = documents.find(({ kind }) => kind === 'ConfigMap')?.data?.['gateway.yaml'] ?? '';
  // What the command in the example makes the Secret of.
  const [makeSecret = ''] =
    /^#.*printf .*\|\n#.*kubectl create secret .* --from-env-file=\/dev\/stdin$/m.exec(manifest) ?? [];
  const names = [...makeSecret.matchAll(/"(\w+)=\$\(openssl rand -hex 16\)"/g)];
  const secrets = Object.fromEntries(names.map(([, name = ''], at) => [name, `${at}`.repeat(32)]));
  assert.equal(names.length, 2);
  const file = join(tempFolder(t), 'gateway.yaml');
  await writeFile(file, config);
  const { warnings } = loadConfig(file, secrets);
  assert.deepEqual(warnings, []);
});

test('a backup that is made without sqlite3, as operations.md shows, has all keys and can be put in place', async (t) => {
  const operations = await readFile(fileHere('../../docs/operations.md'), 'utf8');
  const [, script = ''] = /^\S*\bnode -e "(.*node:sqlite.*)"$/m.exec(operations) ?? [];
  const gateway = await startGateway(t, { store: 'sqlite:./data/gatehouse.db' });
  const file = join(gateway.folder, 'data/gatehouse.db');
  const keys = async (...words: string[]) => {
    // The store is named from the folder in which the gateway runs, and this process is in another.
    const config = await readFile(gateway.configFile, 'utf8');
    const elsewhere = join(gateway.folder, 'absolute.yaml');
    await writeFile(elsewhere, config.replace('./data/gatehouse.db', file));
    return await commandHere(['keys', ...words, '--config', elsewhere]);
  };
  await keys('create', '--plan', 'free', '--owner', 'before');
  await promisify(execFile)(process.execPath, ['-e', script], { cwd: gateway.folder });
  await keys('create', '--plan', 'free', '--owner', 'after');
  await gateway.stop();
  removeStore(file);
  await copyFile(join(gateway.folder, 'data/backup.db'), file);
  const { stdout } = await keys('list', '--json');
  assert.deepEqual(
    stdout
      .trim()
      .split('\n')
      .map((line) => (JSON.parse(line) as { owner: string }).owner),
    ['before'],
  );
});
