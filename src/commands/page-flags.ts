import { InvalidArgumentError, type Command } from 'commander';

/** Adds the flags of commands that list, which are `ListFlags`. */
export function withPages(command: Command): Command {
  return command
    .option('--limit <number>', 'how many at most', wholeNumber, 50)
    .option('--all', 'all of them')
    .option('--cursor <cursor>', 'continue where a list ended')
    .option('--json', 'print one JSON object per line');
}

function wholeNumber(text: string): number {
  if (/^[1-9]\d{0,8}$/.test(text)) return Number(text);
  throw new InvalidArgumentError('It is not a whole number from 1 to 999999999.');
}
