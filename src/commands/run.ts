/** Runs a command that is loaded only now, and has the process end with its exit code. */
export async function run<Module>(
  loading: Promise<Module>,
  command: (module: Module) => number | Promise<number>,
): Promise<void> {
  process.exitCode = await command(await loading);
}
