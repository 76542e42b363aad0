import { InvalidArgumentError, Option, type Command } from 'commander';
import type { KeyFields } from '../../keys/key-fields.ts';
import { withPages } from '../page-flags.ts';
import { run } from '../run.ts';

/** Adds `gatehouse keys …`. Nothing else is loaded before a command runs. */
export function addKeysCommands(program: Command, configOption: () => Option): void {
  const keys = program.command('keys').description('make, rotate, revoke and look at API keys');
  const add: Add = (usage, description, examples, note) =>
    keys
      .command(usage)
      .description(description)
      .addOption(configOption())
      .addHelpText(
        'after',
        `${note === undefined ? '' : `\n${note}\n`}\nExamples:\n${examples.map((line) => `  $ gatehouse keys ${line}`).join('\n')}`,
      );

  addChanges(add);
  addReads(add);
  addMoves(add);
}

/** What an example needs to say stands above all of them: zsh takes a comment behind a command for more words of it. */
type Add = (usage: string, description: string, examples: readonly string[], note?: string) => Command;

function addChanges(add: Add): void {
  withFields(
    add('create', 'make a key and show its secret, once', [
      'create --plan free --name "build server" --owner acme',
      'create --plan free --quiet',
      'create --plan paid --expires 90d --network 10.0.0.0/8 --scope "/v1/voice/*"',
    ]),
    'can be repeated',
  )
    .option('--id <id>', 'choose the id; it shows in logs and to the upstream')
    .addOption(new Option('--json', 'print the key and its secret as JSON').conflicts('quiet'))
    .option('-q, --quiet', 'print the secret and nothing else')
    .action((options) => run(import('./change.ts'), ({ createKey }) => createKey(options)));

  withFields(
    add('update <id>', 'change a key; its secrets and its usage stay', [
      'update key_01 --plan paid',
      'update key_01 --expires never --clear scopes',
      'update key_01 --scope names --scope "/v1/voice/*"',
    ]),
    'the list is replaced: repeat all',
  )
    .option('--clear <field>', `empty a field: ${clearable.join(', ')}`, collectClearable)
    .option('--json', 'print the key as JSON')
    .option('-q, --quiet', 'print nothing')
    .action((id: string, options) => run(import('./change.ts'), ({ updateKey }) => updateKey(id, options)));

  add('rotate <id>', 'give a key a new secret, with --overlap or --now; its usage stays', [
    'rotate key_01 --overlap 24h',
    'rotate key_01 --now',
  ])
    .option('--overlap <duration>', 'how long the old secret goes on working, such as 30m, 24h or 7d')
    .option('--now', 'the old secret stops working at once; for one that was exposed')
    .option('-y, --yes', 'do not ask, as in a script')
    .addOption(new Option('--json', 'print the key and its secret as JSON').conflicts('quiet'))
    .option('-q, --quiet', 'print the secret and nothing else')
    .action((id: string, options) => run(import('./change.ts'), ({ rotateKey }) => rotateKey(id, options)));

  const switches = [
    ['revoke', 'end a key for ever'],
    ['disable', 'stop a key until it is enabled'],
    ['enable', 'let a disabled key work again'],
  ] as const;
  for (const [action, description] of switches) {
    const asks = action !== 'enable';
    const command = add(`${action} <id>`, description, [
      `${action} key_01`,
      ...(asks ? [`${action} key_01 --yes`] : []),
    ]);
    if (asks) command.option('-y, --yes', 'do not ask, as in a script');
    command
      .option('--json', 'print the key as JSON')
      .option('-q, --quiet', 'print nothing')
      .action((id: string, options) =>
        run(import('./change.ts'), ({ switchKey }) => switchKey(action, id, options)),
      );
  }
}

function addReads(add: Add): void {
  withPages(
    add('list', 'list keys', [
      'list --plan free --owner acme',
      'list --label team=voice --disabled',
      'list --all --json | jq -r .id',
    ]),
  )
    .option('--plan <plan>', 'only those of this plan')
    .option('--owner <owner>', 'only those of this owner')
    .option('--name <text>', 'only those whose name begins with this')
    .option('--label <name[=value]>', 'only those with this label; with all of them if repeated', collect)
    .addOption(new Option('--enabled', 'only those that are enabled').conflicts('disabled'))
    .option('--disabled', 'only those that are disabled')
    .option('--revoked', 'only those that were revoked, which are left out otherwise')
    .option('-q, --quiet', 'print ids only')
    .action((options) => run(import('./read.ts'), ({ listKeys }) => listKeys(options)));

  add('show <id>', 'show all that is known of a key', ['show key_01', 'show key_01 --json'])
    .option('--json', 'print the key as JSON')
    .action((id: string, options) => run(import('./read.ts'), ({ showKey }) => showKey(id, options)));

  withPages(
    add('audit', 'say who changed which key or set its usage, newest first', [
      'audit',
      'audit --key key_01 --json',
    ]),
  )
    .option('--key <id>', 'only entries of this key')
    .action((options) => run(import('./read.ts'), ({ auditKeys }) => auditKeys(options)));

  add('verify', 'read a key from standard input and say what the gateway would say', [
    'verify < key.txt',
    'verify --from 10.1.2.3 --method POST --path /v1/name < key.txt',
  ])
    .option('--from <address>', 'as if it came from this address')
    .option('--path <path>', 'as if this path was asked for')
    .option('--method <method>', 'as if by this method', 'GET')
    .option('--json', 'print the answer as JSON')
    .option('-q, --quiet', 'print nothing, only exit with 0 or 1')
    .showHelpAfterError('(the key comes on standard input, where nobody else sees it; see --help)')
    .action((options) => run(import('./verify.ts'), ({ verifyKey }) => verifyKey(options)));

  add('pattern', 'print the regular expression of the keys made here, for secret scanners', [
    'pattern',
    'pattern > gatehouse.pattern && git grep -P -f gatehouse.pattern',
  ]).action((options) => run(import('./read.ts'), ({ printPattern }) => printPattern(options)));
}

function addMoves(add: Add): void {
  add(
    'export',
    'print all keys except revoked ones as JSON lines, hashed, for import into another store',
    ['export > keys.jsonl', 'export --config old.yaml | gatehouse keys import - --config new.yaml'],
    'Keep it like a secret (umask 077): a weak secret can be guessed from its hash.',
  ).action((options) => run(import('./export.ts'), ({ exportKeys }) => exportKeys(options)));

  add(
    'import <file>',
    'take over keys from CSV or JSON lines, plain or hashed; - reads standard input',
    ['import keys.csv --plan free', 'import keys.jsonl --update', 'import - < keys.csv'],
    'The first line of CSV names its columns, such as secret,name,owner,plan,quotas,labels,expiresAt.',
  )
    .option('--plan <plan>', 'the plan of new keys whose lines name none, if there are several')
    .option('--update', 'update existing keys to match the file; otherwise they are skipped')
    .option('--json', 'print the result as JSON')
    .option('-q, --quiet', 'print only the lines that are refused or warned of')
    .action((file: string, options) =>
      run(import('./import.ts'), ({ importKeys }) => importKeys(file, options)),
    );
}

function withFields(command: Command, each: string): Command {
  return command
    .option('--plan <plan>', 'its plan')
    .option('--name <text>', 'what people call it')
    .option('--owner <text>', 'whom it belongs to, as the upstream is told')
    .option('--scope <route>', `a route or pattern of paths that it may call; ${each}`, collect)
    .option('--network <cidr>', `where it may be used from; ${each}`, collect)
    .option('--label <name=value>', `what people sort keys by; ${each}`, collect)
    .option(
      '--quota <name=limit[/period[@timezone]]>',
      `a quota of its own, such as monthly=5000 or daily=200/day@Europe/Berlin; ${each}`,
      collect,
    )
    .option('--not-before <date>', 'valid from: 2026-12-31, 2026-12-31T18:00:00Z or 7d')
    .option(
      '--expires <date>',
      'refused from then on: 2026-12-31 (its first moment, UTC), 2026-12-31T18:00:00Z, 90d or never',
    );
}

/** The others always have a value. */
const clearable: readonly string[] = [
  'name',
  'owner',
  'quotas',
  'scopes',
  'labels',
  'networks',
  'notBefore',
  'expiresAt',
] satisfies (keyof KeyFields)[];

function collectClearable(value: string, before?: readonly string[]): readonly string[] {
  if (clearable.includes(value)) return collect(value, before);
  throw new InvalidArgumentError(`Choose from ${clearable.join(', ')}.`);
}

function collect(value: string, before: readonly string[] = []): readonly string[] {
  return [...before, value];
}
