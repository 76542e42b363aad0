import { spawnSync } from 'node:child_process';
import { existsSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { here } from './machine.ts';

/** Installs the peers' packages on first use, and when others are wanted. False, after printing the reason, when that fails. */
export function installPeers(): boolean {
  const installed = join(here, 'node_modules/.package-lock.json');
  if (existsSync(installed) && changedAt(installed) >= changedAt(join(here, 'package-lock.json')))
    return true;
  process.stderr.write(
    'The peers have packages of their own; they are installed into bench/node_modules once.\n',
  );
  const options = { cwd: here, stdio: 'inherit' } as const;
  const { status, error } = spawnSync('npm', ['ci', '--loglevel=error', '--no-audit', '--no-fund'], options);
  if (status !== 0)
    process.stderr.write(`They could not be installed${error === undefined ? '' : `: ${error.message}`}.\n`);
  return status === 0;
}

function changedAt(file: string): number {
  return statSync(file).mtimeMs;
}
