import { existsSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { CannotRun } from './cannot-run.ts';
import { here, need } from './machine.ts';
import { runToEnd } from './processes.ts';

/** Installs the peers' packages on first use, and when others are wanted. */
export async function installPeers(): Promise<void> {
  const installed = join(here, 'node_modules/.package-lock.json');
  if (existsSync(installed) && changedAt(installed) >= changedAt(join(here, 'package-lock.json'))) return;
  process.stderr.write(
    'The peers have packages of their own; they are installed into bench/node_modules once.\n',
  );
  const args = ['ci', '--loglevel=error', '--no-audit', '--no-fund'];
  const { status, stderr } = await runToEnd(need('npm'), args, { cwd: here });
  if (status !== 0) throw new CannotRun(`They could not be installed.\n${stderr.trim()}`);
}

function changedAt(file: string): number {
  return statSync(file).mtimeMs;
}
