import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { here } from './machine.ts';

/** Installs the peers' packages on the first use. False when they could not be installed. */
export function installPeers(): boolean {
  if (existsSync(join(here, 'node_modules/.package-lock.json'))) return true;
  process.stderr.write(
    'The peers have packages of their own; they are installed into bench/node_modules once.\n',
  );
  return spawnSync('npm', ['ci', '--silent'], { cwd: here, stdio: 'inherit' }).status === 0;
}
