#!/usr/bin/env node
import module from 'node:module';
import { fileURLToPath } from 'node:url';
import { exitCodes } from './commands/exit-codes.ts';
import { relaunch } from './commands/relaunch.ts';

/** Since 26.5.1 a request cannot hide framing headers behind a thousand others (CVE-2026-58044). */
const nodeVersionMin = '26.5.1';
const compileCache = fileURLToPath(new URL('../node_modules/.cache/gatehouse', import.meta.url));

// By default one opens the inspector, and with it everything in memory, to whoever may send signals. The other, by which HAProxy
// and PHP reload, would end the process at once.
process.on('SIGUSR1', () => undefined).on('SIGUSR2', () => undefined);

// It has libraries print what they do, and ioredis prints the password of the store.
delete process.env['DEBUG'];

// Up to here no file may import by name what an old Node lacks: it would not link, and nobody would be told why.
if (ordinal(process.versions.node) < ordinal(nodeVersionMin)) {
  process.stderr.write(`gatehouse: needs Node.js ${nodeVersionMin} or later, this is ${process.version}\n`);
  process.exitCode = exitCodes.unavailable;
} else {
  if (process.argv[2] === 'serve') relaunch({ compileCache });
  // What is loaded from here on is compiled once and kept: later starts take half the time and 25 MB less. Where the folder
  // cannot be written, as in a read-only container, nothing is kept and nothing is lost.
  module.enableCompileCache(compileCache);
  const { runCommand } = await import('./commands/run-command.ts');
  await runCommand();
}

/** A number by which versions can be compared. That of a preview is the one it leads to. */
function ordinal(version: string): number {
  const [release = ''] = version.split('-');
  return release.split('.').reduce((sum, part) => sum * 1000 + Number(part), 0);
}
