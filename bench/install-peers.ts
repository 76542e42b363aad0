import { existsSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { findProgram, here, whyMissing } from './machine.ts';
import { runToEnd } from './processes.ts';

/** Installs the peers' packages on first use, and when others are wanted. Where it cannot, those that need them do not start. */
export async function installPeers(folder: string = here): Promise<void> {
  const installed = join(folder, 'node_modules/.package-lock.json');
  if (existsSync(installed) && changedAt(installed) >= changedAt(join(folder, 'package-lock.json'))) return;
  process.stderr.write(
    'The peers have packages of their own; they are installed into bench/node_modules once.\n',
  );
  const whyNot = await install(folder);
  if (whyNot !== undefined)
    process.stderr.write(`They could not be installed: who needs them is left out.\n${whyNot}\n`);
}

/** Why it could not; undefined if it could. */
async function install(folder: string): Promise<string | undefined> {
  const npm = findProgram('npm');
  if (npm === undefined) return whyMissing('npm');
  const args = ['ci', '--loglevel=error', '--no-audit', '--no-fund'];
  const { status, stderr } = await runToEnd(npm, args, { cwd: folder });
  return status === 0 ? undefined : stderr.trim();
}

function changedAt(file: string): number {
  return statSync(file).mtimeMs;
}
