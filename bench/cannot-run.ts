/** Why a subject is left out, or why nothing can be measured. */
export class CannotRun extends Error {}

/** Runs a program to its exit code. What stands in its way is told in one line. */
export async function orUnavailable(program: () => Promise<number>): Promise<number> {
  try {
    return await program();
  } catch (error) {
    if (!(error instanceof CannotRun)) throw error;
    process.stderr.write(`${error.message}\n`);
    return process.exit(69); // what was started would hold this process up, and ends with it
  }
}
