import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { parseAllDocuments } from 'yaml';

const fileHere = (path: string): string => fileURLToPath(new URL(path, import.meta.url));

test('the configuration in the Kubernetes example is one that the gateway takes', async (t) => {
  const manifest = await readFile(fileHere('../../deploy/kubernetes.yaml'), 'utf8');
  const documents = parseAllDocuments(manifest).map(
    (document) =>
      document.toJS() as { kind: string; data?: Record<string, string>; stringData?: NodeJS.ProcessEnv },
  );
  const config = documents.find(({ kind }) => kind === 'ConfigMap')?.data?.['gateway.yaml'] ?? '';
  const secrets = documents.find(({ kind }) => kind === 'Secret')?.stringData ?? {};
  const folder = await mkdtemp(join(tmpdir(), 'gatehouse-deploy-'));
  t.after(() => rm(folder, { recursive: true, force: true }));
  const file = join(folder, 'gateway.yaml');
  await writeFile(file, config);
  const check = [fileHere('../../src/main.ts'), 'check', '--config', file];
  await assert.doesNotReject(
    promisify(execFile)(process.execPath, check, { env: { ...process.env, ...secrets } }),
  );
});
