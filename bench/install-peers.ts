import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { findProgram, here, whyMissing } from './machine.ts';
import { runToEnd } from './processes.ts';

/** Installs the peers' packages on first use, and when others are wanted. Where it cannot, those that need them do not start. */
export async function installPeers(folder: string = here): Promise<void> {
  if (isInstalled(folder)) return;
  process.stderr.write(
    'The peers have packages of their own; they are installed into bench/node_modules once.\n',
  );
  const whyNot = await install(folder);
  if (whyNot !== undefined)
    process.stderr.write(`They could not be installed: who needs them is left out.\n${whyNot}\n`);
}

/**
 * By what npm says that it has installed, not by the time of the file: a checkout of another branch and back would have everything
 * removed first, and offline nothing would come again.
 */
function isInstalled(folder: string): boolean {
  const installed = packagesOf(join(folder, 'node_modules/.package-lock.json'));
  const wanted = packagesOf(join(folder, 'package-lock.json'));
  return (
    installed !== undefined &&
    Object.entries(wanted ?? {}).every(
      ([path, { version, optional }]) =>
        path === '' || installed[path]?.version === version || (optional === true && !(path in installed)),
    )
  );
}

type Packages = Readonly<Record<string, { readonly version?: string; readonly optional?: boolean }>>;

function packagesOf(lock: string): Packages | undefined {
  try {
    return (JSON.parse(readFileSync(lock, 'utf8')) as { packages?: Packages }).packages ?? {};
  } catch {
    return undefined; // it is not there, or was not written to its end
  }
}

/** Why it could not; undefined if it could. */
async function install(folder: string): Promise<string | undefined> {
  const npm = findProgram('npm');
  if (npm === undefined) return whyMissing('npm');
  const args = ['ci', '--loglevel=error', '--no-audit', '--no-fund'];
  const { status, stderr } = await runToEnd(npm, args, { cwd: folder });
  return status === 0 ? undefined : stderr.trim();
}
