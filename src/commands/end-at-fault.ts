import { exitCodes } from './exit-codes.ts';

/**
 * Ends the process at a fault that nobody caught. Node would end it with 1, by which scripts are told that the answer was no, and
 * would print all that the error carries, as the arguments of a call.
 */
export function endAtFault(fault: unknown): void {
  const where = fault instanceof Error ? fault.stack : typeof fault;
  process.stderr.write(`gatehouse: a fault of the gateway itself, please report it\n${where}\n`);
  process.exit(exitCodes.internal);
}
