import { endAtFault } from './end-at-fault.ts';
import { exitCodes } from './exit-codes.ts';
import { watchOutput } from './output.ts';

/** Runs what the command line asks for. */
export async function runCommand(): Promise<void> {
  // `watchForFaults` takes its place where there is a log.
  process.on('uncaughtException', endAtFault);
  process.on('unhandledRejection', endAtFault);
  watchOutput(process);
  if (!hasWorkingDirectory()) {
    process.stderr.write('gatehouse: the working directory was removed, change to another and try again\n');
    process.exit(exitCodes.unavailable); // a worker would go on listening to the process that leads it
  }
  // What `serve` starts where `workers` asks for several. It has no other words, so what reads them is not loaded.
  if (process.argv[2] === 'worker') {
    const { work } = await import('./workers/work.ts');
    process.exit(await work());
  } else {
    const { runProgram } = await import('./program.ts');
    await runProgram();
  }
}

/** Without one no relative path means anything, and some of what is loaded later throws. */
function hasWorkingDirectory(): boolean {
  try {
    process.cwd();
    return true;
  } catch {
    return false;
  }
}
