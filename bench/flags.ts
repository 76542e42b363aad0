/** Reads the flags, or prints one line that says what is wrong with them. */
export function orUsage<T>(read: () => T): T {
  try {
    return read();
  } catch (error) {
    if (!(error instanceof Error)) throw error;
    process.stderr.write(`${error.message.split(/\.\s/)[0]} (add --help for what is understood)\n`);
    return process.exit(64);
  }
}

/** wrk takes whole seconds only. */
export function countOf(flag: string, value: string | undefined): number | undefined {
  if (value === undefined) return undefined;
  if (!/^[1-9]\d{0,3}$/.test(value))
    throw new Error(`--${flag} is a whole number from 1 to 9999, not ${value}`);
  return Number(value);
}

export function choiceOf<T extends string>(flag: string, choices: readonly T[], value: string): T {
  const choice = choices.find((one) => one === value);
  if (choice === undefined) throw new Error(`--${flag} is ${choices.join(' or ')}, not ${value}`);
  return choice;
}

/** Returns the exit code. */
export function showHelp(text: string): number {
  process.stdout.write(text);
  return 0;
}
