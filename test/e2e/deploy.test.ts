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
    (document) => document.toJS() as { kind: string; data?: Record<string, string> },
  );
  const config = documents.find(({ kind }) => kind === 'ConfigMap')?.data?.['gateway.yaml'] ?? '';
  // What the command in the example makes the Secret of.
  const names = [...manifest.matchAll(/^#.*--from-literal=(\w+)=\$\(openssl rand -hex 16\)/gm)];
  const secrets = Object.fromEntries(names.map(([, name = ''], at) => [name, `${at}`.repeat(32)]));
  assert.equal(names.length, 2);
  const folder = await mkdtemp(join(tmpdir(), 'gatehouse-deploy-'));
  t.after(() => rm(folder, { recursive: true, force: true }));
  const file = join(folder, 'gateway.yaml');
  await writeFile(file, config);
  const check = [fileHere('../../src/main.ts'), 'check', '--config', file];
  const { stdout, stderr } = await promisify(execFile)(process.execPath, check, {
    env: { ...process.env, ...secrets },
  });
  assert.doesNotMatch(stdout + stderr, /warning/);
});
