import { Argument, Command, CommanderError, InvalidArgumentError, Option } from 'commander';
import { version } from '../telemetry/build.ts';
import type { Shell } from './completion.ts';
import type { CommandFlags } from './desk.ts';
import { exitCodes } from './exit-codes.ts';
import { addKeysCommands } from './keys/program.ts';
import { withPages } from './page-flags.ts';
import { run } from './run.ts';
import { hearSignals } from './signals.ts';
import type { UsageFlags } from './usage.ts';
import { withholdWords } from './withhold-words.ts';

const help = 'see --help';
const helpOnFile = `(--config FILE names the file; ${help})`;

const completionHelp = `
Examples:
  $ source <(gatehouse completion bash)
  $ gatehouse completion fish > ~/.config/fish/completions/gatehouse.fish`;

/** Runs the command that the words of the command line name. */
export async function runProgram(): Promise<void> {
  const program = new Command('gatehouse')
    .description(
      'An authenticating gateway: API keys, quotas and checked bodies in front of an HTTP service.',
    )
    .version(version)
    .showHelpAfterError(`(${help})`)
    // In 80 columns the longest option leaves less than the 40 that Commander wants to break lines in.
    .configureHelp({ minWidthToWrap: 30 })
    .configureOutput({ outputError: (complaint, write) => write(withholdWords(complaint)) })
    .exitOverride();

  addServe(program);
  addCheck(program);
  addUsage(program);
  addKeysCommands(program, configOption);
  addCompletion(program);

  // Set last, because commands take over what stands here when they are added.
  for (const group of [program, ...program.commands.filter(({ commands }) => commands.length > 0)])
    group.showHelpAfterError(`(options go after the command; ${help})`);
  try {
    await program.parseAsync(mendHelp(process.argv, program));
  } catch (error) {
    if (!(error instanceof CommanderError)) throw error;
    // Not an exit at once: whether the help could be written shows a moment later.
    process.exitCode = error.exitCode === 0 ? exitCodes.ok : exitCodes.usage;
  }
}

/**
 * Turns `help keys create` into `keys help create`, because commander's `help` looks only one level deep, and `help nonsense` into
 * `nonsense`, because `help` does not complain about words it does not know.
 */
function mendHelp(argv: readonly string[], { commands }: Command): readonly string[] {
  const [first = '', second, ...rest] = argv.slice(2);
  const [word, inner] = first === 'help' ? [second, ...rest] : second === 'help' ? [first, ...rest] : [];
  if (word === undefined) return argv;
  const group = commands.find((one) => one.name() === word);
  if (group === undefined) return [...argv.slice(0, 2), word];
  if (inner === undefined || group.commands.length === 0) return argv;
  const isKnown = group.commands.some((one) => one.name() === inner);
  return [...argv.slice(0, 2), word, ...(isKnown ? ['help'] : []), inner];
}

function addServe(program: Command): void {
  program
    .command('serve')
    .description('run the gateway until it is stopped')
    .addOption(configOption())
    .addHelpText('after', '\nExample:\n  $ gatehouse serve --config config/gateway.yaml')
    .showHelpAfterError(helpOnFile)
    .action(async ({ config }: { config: string }) => {
      // Signals are heard before the rest is loaded: the first process of a container never gets one it has no listener for.
      const signals = hearSignals();
      const { serve } = await import('./serve.ts');
      process.exit(await serve(config, signals));
    });
}

function addCheck(program: Command): void {
  program
    .command('check')
    .description('say what a configuration does, or everything that is wrong with it')
    .addOption(configOption())
    .addHelpText('after', '\nExample:\n  $ gatehouse check --config config/gateway.yaml && echo fine')
    .showHelpAfterError(helpOnFile)
    .action(({ config }: { config: string }) =>
      run(import('./check.ts'), ({ check }) => check(config, process)),
    );
}

function addCompletion(program: Command): void {
  program
    .command('completion')
    .description('print completions for a shell')
    .addArgument(new Argument('<shell>', 'the shell').choices(['bash', 'zsh', 'fish']))
    .addHelpText('after', completionHelp)
    .action(async (shell: Shell) => {
      const { completionScript } = await import('./completion.ts');
      process.stdout.write(completionScript(shell, program));
    });
}

function addUsage(program: Command): void {
  const usage = program.command('usage').description('read and set what keys have used of their quotas');

  withPages(
    usage
      .command('show')
      .description('show limit, use and reset of the quotas of a key, or of all keys')
      .argument('[key]', 'the id of a key; when absent all keys, those of the configuration first')
      .addOption(configOption()),
  )
    .option('--ended', 'the periods that have just ended, to charge for them; they are kept for a day')
    .addHelpText(
      'after',
      `
USED includes LEASED, the units that gateways have drawn ahead and not yet accounted for: some may be spent already.

Examples:
  $ gatehouse usage show
  $ gatehouse usage show demo --json
  $ gatehouse usage show --all --json | jq -r 'select(any(.quotas[]; .remaining == 0)).key'
  $ gatehouse usage show --all --json --ended`,
    )
    .action((key: string | undefined, options: UsageFlags) =>
      run(import('./usage.ts'), ({ showUsage }) => showUsage(key, options)),
    );

  usage
    .command('set')
    .description('set what a key has used of a quota in the current period')
    .argument('<key>', 'the id of a key')
    .addOption(configOption())
    .requiredOption('--quota <name>', 'the quota')
    .requiredOption('--used <units>', 'how many units are used; above the limit nothing is left', units)
    .option('-y, --yes', 'do not ask, as in a script')
    .option('--json', 'print the usage as JSON')
    .addHelpText(
      'after',
      `
Setting it twice adds nothing. What gateways hold at that moment (LEASED) is counted on top, as they may still spend it.

Examples:
  $ gatehouse usage set demo --quota monthly --used 900
  $ gatehouse usage set demo --quota monthly --used 0 --yes`,
    )
    .action((key: string, options: CommandFlags & { quota: string; used: number; yes?: true }) =>
      run(import('./usage.ts'), ({ setUsage }) => setUsage(key, options)),
    );

  usage
    .command('reset')
    .description('set what a key has used in the current periods to zero')
    .argument('<key>', 'the id of a key')
    .addOption(configOption())
    .option('--quota <name>', 'this quota alone')
    .option('-y, --yes', 'do not ask, as in a script')
    .option('--json', 'print the usage as JSON')
    .addHelpText(
      'after',
      `
What gateways hold at that moment (LEASED) stays counted, as they may still spend it.

Examples:
  $ gatehouse usage reset demo
  $ gatehouse usage reset demo --quota monthly --yes`,
    )
    .action((key: string, options: CommandFlags & { quota?: string; yes?: true }) =>
      run(import('./usage.ts'), ({ resetUsage }) => resetUsage(key, options)),
    );
}

function units(text: string): number {
  const count = Number(text);
  if (/^\d+$/.test(text) && Number.isSafeInteger(count)) return count;
  throw new InvalidArgumentError(`It is not a whole number from 0 to ${Number.MAX_SAFE_INTEGER}.`);
}

function configOption(): Option {
  const option = new Option('-c, --config <file>', 'the configuration file').default('config/gateway.yaml');
  // An empty variable is meant as none.
  return process.env['GATEHOUSE_CONFIG'] === '' ? option : option.env('GATEHOUSE_CONFIG');
}
