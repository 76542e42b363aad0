import assert from 'node:assert/strict';
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { join, relative } from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { parse, parseAllDocuments } from 'yaml';
import { madePages, renewTables } from '../../docs/write-tables.ts';
import { problemStatuses } from '../../src/admin/problem.ts';
import { endedBy, exitCodes } from '../../src/commands/exit-codes.ts';
import { loadConfig } from '../../src/config/load-config.ts';
import { catalogue, refusalCodes } from '../../src/refusals.ts';
import { auditEntriesMax, auditKeptMs } from '../../src/stores/key-store.ts';
import { accessLine } from '../../src/telemetry/access-log.ts';
import { Visit } from '../../src/visit.ts';
import { createRequestHeaderFilter } from '../../src/wire/headers.ts';
import { commandHere } from '../helpers/command-here.ts';
import { tempFolder } from '../helpers/temp-folder.ts';

const root = fileURLToPath(new URL('../../', import.meta.url));
const read = (path: string): string => readFileSync(join(root, path), 'utf8');
const readme = read('README.md');
/** All that is told of the command line. */
const onCommands = readme + read('docs/command-line.md');
/** What git does not track (.gitignore), and git itself. */
const untracked = new Set(['.git', 'node_modules', 'dist', 'data']);
const tracked = readdirSync(root, { withFileTypes: true })
  .filter(({ name }) => !untracked.has(name) && !name.endsWith('.log'))
  .flatMap((entry) => (entry.isDirectory() ? filesIn(entry.name) : [entry.name]));

for (const page of madePages) {
  test(`the tables in ${page} that are made from the code are current (npm run docs)`, () => {
    assert.equal(read(page), renewTables(page, read(page)));
  });
}

test('an option that is written as a number has no word for its default', () => {
  const numbers = rowsOf('option', read('docs/options.md')).filter(([, written]) =>
    written?.startsWith('whole number'),
  );
  assert.ok(numbers.length > 10);
  const worded = numbers.filter(([, written, standard = '']) => {
    const value = bare(standard);
    return !/^\d*$|^required$/.test(value) && !written?.includes(`\`${value}\``);
  });
  assert.deepEqual(worded, []);
});

test('the README has every refusal with its status and words, and no other', () => {
  const told = rowsOf('code').map(([code, status, words]) => [bare(code), Number(status), words]);
  const real = Object.entries(catalogue).map(([code, { status, message }]) => [code, status, message]);
  assert.deepEqual(told, real);
});

test('the picture of the journey has the statuses of each stage', () => {
  const picture = /## The journey of a request\n\n```\n([\s\S]*?)```/.exec(readme)?.[1] ?? '';
  const told = [...picture.matchAll(/^ *((?:\d{3} )+)◄/gm)].map(([, statuses]) => statuses?.trim());
  const stages = read('src/refusals.ts')
    .split(/^  \/\/ (?:.*)$/m)
    .slice(1, -1)
    .map((stage) => new Set([...stage.matchAll(/status: (\d{3})/g)].map(([, status]) => Number(status))));
  for (const stage of stages) stage.delete(499); // said to nobody: the client is gone
  stages.at(-1)?.add(catalogue.overloaded.status); // by a route that has no place for one more WebSocket
  assert.deepEqual(
    told,
    stages.map((stage) => [...stage].toSorted((a, b) => a - b).join(' ')),
  );
});

test('refusals.md has a section for every refusal, and for no other', () => {
  const told = [...read('docs/refusals.md').matchAll(/^### (\w+)$/gm)].map(([, code]) => code);
  assert.deepEqual(told, refusalCodes);
});

test('admin-api.md has every refusal of the admin API with its status, and no other', () => {
  const told = rowsOf('code', read('docs/admin-api.md')).map(([code, status]) => [
    bare(code),
    Number(status),
  ]);
  assert.deepEqual(told, Object.entries(problemStatuses));
});

test('log.md has every field of the log line, and no other', () => {
  const req = {
    method: 'GET',
    headers: {},
    visit: new Visit('id', { client: '', peer: '', trusted: false }),
  };
  const line = accessLine(req as unknown as IncomingMessage, {} as ServerResponse, String);
  const byPino = { before: ['level', 'time'], after: ['msg'] };
  const real = [...byPino.before, ...Object.keys(line), ...byPino.after];
  assert.deepEqual(
    rowsOf('field', read('docs/log.md')).map(([field]) => bare(field)),
    real,
  );
});

test('the line that the README shows has known fields only', () => {
  const shown = JSON.parse(/```json\n(.*)\n```/.exec(readme)?.[1] ?? '') as object;
  const fields = rowsOf('field', read('docs/log.md')).map(([field]) => bare(field));
  assert.deepEqual(
    Object.keys(shown).filter((field) => !fields.includes(field)),
    [],
  );
});

test('the lines that log.md says are logged are logged', () => {
  const [, table = ''] = /## Lines that belong to no request\n([^]*?)\n## /.exec(read('docs/log.md')) ?? [];
  const told = [...table.matchAll(/^\| (`.*?`) \|/gm)].flatMap(
    ([, lines = '']) => lines.match(/(?<=`)[a-z][^`]*(?=`)/g) ?? [],
  );
  assert.ok(told.length > 15);
  const source = filesIn('src').map(read).join('');
  const missing = told.filter((line) => {
    const text = line.replace(/ …$/, '');
    return !source.includes(`'${text}`) && !source.includes(`\`${text}`);
  });
  assert.deepEqual(missing, []);
});

test('stores.md says what to do about every reason for which Redis is away', () => {
  const told = rowsOf('reason', read('docs/stores.md'))
    .map(([reasons]) => reasons)
    .join();
  const entries = read('src/stores/redis/failures.ts').matchAll(
    /code: '([^']+)',\s+means:\s+'([^'(]+?)(?:(?<=our user)[^']+)? ?['(]/g,
  );
  // These are answered by asking otherwise, and are no reason.
  const asked = [...entries].filter(([, code = '']) => !['NOSCRIPT', 'CROSSSLOT'].includes(code));
  assert.ok(asked.length > 15);
  assert.deepEqual(
    asked.map(([, , means = '']) => means).filter((means) => !told.includes(means)),
    [],
  );
});

test('the documents name only metrics that exist', () => {
  const real = rowsOf('metric', read('docs/metrics.md')).map(([name]) => bare(name));
  const pages = tracked.filter((path) => /^(?:README|CHANGELOG|docs\/[\w-]+)\.md$/.test(path));
  const told = pages.flatMap((page) => read(page).match(/gatehouse_\w+/g) ?? []);
  assert.ok(pages.includes('docs/operations.md') && told.length > 50);
  assert.deepEqual(
    told.filter((name) => !real.includes(name.replace(/(?<=_seconds)_(?:bucket|sum|count)$/, ''))),
    [],
  );
});

test('the README has every command with what it does, and no other', async () => {
  const { stdout } = await commandHere(['--help']);
  const list = stdout.slice(stdout.indexOf('Commands:')).replaceAll(/\n {4,}/g, ' ');
  const real = [...list.matchAll(/^ {2}(\w+) (?:[[<]\w+[\]>] )*(.*)$/gm)].map(([, name, text]) => [
    name,
    text?.trim(),
  ]);
  assert.deepEqual(
    rowsOf('command').map(([name, text]) => [bare(name), text]),
    real,
  );
});

test('the README and command-line.md name every option of every command', async () => {
  const commands = rowsOf('command')
    .map(([name]) => [bare(name)])
    .filter(([name]) => name !== 'help');
  // Commands below a command are added on the way.
  for (const command of commands) {
    const { stdout } = await commandHere([...command, '--help']);
    for (const [option] of stdout.matchAll(/--(?!help)[a-z-]+/g)) {
      assert.ok(onCommands.includes(`\`${option}`), `${command.join(' ')} ${option}`);
    }
    assert.doesNotMatch(stdout, /^ {2}\$ .*#/m, 'zsh takes a comment that is pasted for words');
    for (const [, below = ''] of stdout.matchAll(/^ {2}((?!help\b)\w+) (?:\[options\] )/gm)) {
      assert.ok(onCommands.includes(`\`${[...command, below].join(' ')}`), `${command.join(' ')} ${below}`);
      commands.push([...command, below]);
    }
  }
});

test('command-line.md names the commands that ask before they do it, and no other', async () => {
  const [line = ''] = /^- \*\*Questions\.\*\* [^]*?(?=^[-\n])/m.exec(onCommands) ?? [];
  const told = codesIn(line)
    .filter((code) => !code.startsWith('--'))
    .map((code) => code.split(' ').slice(0, 2).join(' '));
  const commands = [...onCommands.matchAll(/`((?:keys|usage) [a-z]+)(?= |`)/g)].map(
    ([, command = '']) => command,
  );
  const real: string[] = [];
  for (const command of new Set(commands)) {
    const { stdout } = await commandHere([...command.split(' '), '--help']);
    if (stdout.includes('--yes')) real.push(command);
  }
  assert.deepEqual(told.toSorted(), real.toSorted());
});

test('the commands that the README shows for keys work one after the other', async (t) => {
  const [, config = ''] = /```yaml\n(# yaml-language-server[^]*?)```/.exec(readme) ?? [];
  const [, block = ''] = /^alias gatehouse=.*\n([^]*?)^```/m.exec(readme) ?? [];
  const file = join(tempFolder(t), 'gateway.yaml');
  writeFileSync(file, `${config.replace('${ACME_KEY}', 'k'.repeat(32))}\nstore: 'sqlite:${file}.db'\n`);
  const commands = [...block.matchAll(/^gatehouse (keys (?!import).*)/gm)];
  assert.ok(commands.length > 3);
  for (const [, words = ''] of commands) {
    const { code, stderr } = await commandHere([...words.trim().split(/ +/), '--config', file]);
    assert.equal(code, 0, `${words}: ${stderr}`);
  }
});

test('keys.md says how long the audit log is', () => {
  const [days, entries] = [auditKeptMs / 86_400_000, auditEntriesMax.toLocaleString('en')];
  const text = read('docs/keys.md').replaceAll(/\s+/g, ' ');
  assert.ok(text.includes(`for ${days} days`) && text.includes(`newest ${entries} entries`));
});

test('command-line.md has every exit code, and no other', () => {
  const told = rowsOf('exit code', read('docs/command-line.md')).flatMap(([codes]) =>
    codes?.split(' ').map(Number),
  );
  assert.deepEqual(told, [...Object.values(exitCodes), ...Object.values(endedBy)]);
});

test('the headers that the README says are stripped are stripped, and all of them are named', () => {
  const passes = createRequestHeaderFilter(['apiKey'], false);
  const told = rowsOf('stripped').flatMap(([names]) => codesIn(names).map((name) => name.toLowerCase()));
  for (const name of told) assert.equal(passes(name.replace('*', 'anything')), false, name);
  const source = read('src/wire/headers.ts');
  const sets = source.slice(0, source.indexOf('const notNominable'));
  const inCode = [...sets.matchAll(/'([a-z0-9]+(?:-[a-z0-9]+)*-?)'/g)].map(([, name]) => name);
  const unnamed = inCode.filter((name) => !told.some((one) => one.replace('*', '') === name));
  assert.deepEqual(unnamed, []);
});

test('the headers that the README says are set to the upstream are those that are set', () => {
  const told = rowsOf('set').flatMap(([names]) => codesIn(names).map((name) => name.toLowerCase()));
  const source = read('src/stages/forward.ts') + read('src/upstream/upstream.ts');
  const real = [...source.matchAll(/'((?:x-[a-z-]+)|forwarded|host|content-length)'(?=[,\]])/g)].map(
    ([, name]) => name,
  );
  assert.deepEqual(new Set(told), new Set(real));
});

test('the configuration that the README shows is one that the gateway takes', (t) => {
  const file = join(tempFolder(t), 'gateway.yaml');
  const shown = /```yaml\n(# yaml-language-server[^]*?)```/.exec(readme)?.[1] ?? '';
  const errors = /```yaml\n(errors:\n[^]*?)```/.exec(readme)?.[1] ?? '';
  writeFileSync(file, shown + errors);
  const { routes, errors: wordings } = loadConfig(file, { ACME_KEY: 'k'.repeat(32) });
  assert.deepEqual([routes.length, wordings.size], [2, 1]);
});

test('every configuration that is shown holds a name to the same: not blank, and not endless', () => {
  const configMap = parseAllDocuments(read('deploy/kubernetes.yaml'))
    .map((document) => document.toJS() as { kind: string; data: Record<string, string> })
    .find(({ kind }) => kind === 'ConfigMap');
  const files = {
    'config/gateway.yaml': read('config/gateway.yaml'),
    'examples/demo.yaml': read('examples/demo.yaml'),
    'deploy/kubernetes.yaml': configMap?.data['gateway.yaml'] ?? '',
    'README.md': /```yaml\n(# yaml-language-server[^]*?)```/.exec(readme)?.[1] ?? '',
  };
  const name = { type: 'string', pattern: String.raw`\S`, maxLength: 256 };
  const expected = { type: 'object', required: ['firstName', 'lastName'] };
  for (const [file, text] of Object.entries(files)) {
    const { routes } = parse(text) as { routes: { path: string; body?: { json?: { schema: object } } }[] };
    const schema = routes.find(({ path }) => path.endsWith('/name'))?.body?.json?.schema;
    assert.deepEqual(schema, { ...expected, properties: { firstName: name, lastName: name } }, file);
  }
});

test('the plans, routes and usage path that the documents show are ones that the gateway takes', (t) => {
  const file = join(tempFolder(t), 'gateway.yaml');
  const rest =
    'upstreams: { recognition: { targets: ["http://127.0.0.1:9000"] } }\nversions: { v1: { upstream: recognition } }\n';
  const [plan] = shownParts('plans');
  const [usage] = shownParts('usage', read('docs/quotas.md'));
  const pages = ['README.md', 'docs/quotas.md', 'docs/uploads.md'];
  const kinds = pages
    .flatMap((page) => shownParts('routes', read(page)))
    .map((shown) => {
      writeFileSync(file, [rest, plan, usage, shown].join(''));
      const { plans, routes, usagePath } = loadConfig(file, {});
      assert.deepEqual([plans.size, routes.length, usagePath], [1, 1, '/v1/usage']);
      return routes.map(({ body, upgrade }) => (upgrade ? 'upgrade' : body.kind)).join();
    });
  assert.deepEqual(kinds, ['any', 'upgrade', 'any', 'upload', 'upload']);
});

test('what the documents and scripts point to exists', () => {
  const missing = tracked
    .filter((path) => path.endsWith('.md'))
    .flatMap((path) =>
      linksOf(read(path))
        .filter((link) => !leadsSomewhere(path, link))
        .map((link) => `${path}: ${link}`),
    );
  const { scripts } = JSON.parse(read('package.json')) as { scripts: Record<string, string> };
  for (const [name, script] of Object.entries(scripts)) {
    for (const [path] of script.matchAll(/[\w./-]+\.(?:ts|json)\b/g)) {
      if (!existsSync(join(root, path))) missing.push(`script ${name}: ${path}`);
    }
  }
  assert.deepEqual(missing, []);
});

test('the README leads to every page of docs', () => {
  const links = new Set(linksOf(readme).map((link) => link.split('#')[0]));
  const pages = tracked.filter((path) => /^docs\/[\w-]+\.md$/.test(path));
  assert.deepEqual(
    pages.filter((page) => !links.has(page)),
    [],
  );
});

test('the README calls only scripts that exist', () => {
  const { scripts } = JSON.parse(read('package.json')) as { scripts: Record<string, string> };
  const called = [...readme.matchAll(/npm (?:run )?(?!run\b|ci\b)([a-z:]+)/g)].map(([, name]) => name ?? '');
  assert.ok(called.length > 5);
  assert.deepEqual(
    called.filter((name) => scripts[name] === undefined),
    [],
  );
});

test('commands that are shown can be pasted into zsh, to which a comment is words like any other', () => {
  const pages = tracked.filter((path) => path.endsWith('.md'));
  const lines = pages.flatMap((page) =>
    [...read(page).matchAll(/^```sh\n([^]*?)^```/gm)].flatMap(([, block = '']) => block.split('\n')),
  );
  assert.ok(lines.length > 50);
  assert.deepEqual(
    lines.filter((line) => line.includes('# ') && !/^# [\w ,.:-]+$/.test(line)),
    [],
  );
});

test('every decision is linked from the list of decisions', () => {
  const links = linksOf(read('docs/decisions/README.md'));
  const records = readdirSync(join(root, 'docs/decisions')).filter((name) => /^\d{4}-/.test(name));
  assert.deepEqual(
    links.filter((link) => /^\d{4}-/.test(link)),
    records.toSorted(),
  );
});

test('every decision has its four parts', () => {
  for (const name of readdirSync(join(root, 'docs/decisions')).filter((file) => /^\d{4}-/.test(file))) {
    const parts = [...read(`docs/decisions/${name}`).matchAll(/^\*\*(\w+)\.\*\*/gm)].map(([, part]) => part);
    assert.deepEqual(parts, ['Context', 'Decision', 'Rejected', 'Consequence'], name);
  }
});

const neverNamed = [
  { what: 'a path of somebody’s machine', form: /(?<![\w.~-])\/(?:home|root|Users|work)\/[\w.-]+/ },
  {
    what: 'a registry',
    form: /https?:\/\/[\w.-]*(?:registry|npmjs|artifactory)|"resolved":\s"|^\s*registry\s*=/,
  },
];
for (const { what, form } of neverNamed) {
  test(`no tracked file names ${what}`, () => {
    const naming = tracked.flatMap((path) =>
      read(path)
        .split('\n')
        .flatMap((line, at) => (form.test(line) ? [`${path}:${at + 1}: ${form.exec(line)?.[0]}`] : [])),
    );
    assert.deepEqual(naming, []);
  });
}

/** The blocks of YAML on a page that begin with this option. */
function shownParts(option: string, page = readme): readonly [string, ...string[]] {
  const blocks = page.matchAll(new RegExp(`\`\`\`yaml\n(${option}:[^]*?)\`\`\``, 'g'));
  const [first, ...others] = [...blocks].map(([, block]) => block ?? '');
  assert.ok(first, `no ${option} are shown`);
  return [first, ...others];
}

function filesIn(folder: string): string[] {
  return readdirSync(join(root, folder), { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && !entry.parentPath.split('/').some((name) => untracked.has(name)))
    .map((entry) => relative(root, join(entry.parentPath, entry.name)));
}

/** The rows of the table on a page whose first column has this head; the first one, if several do. */
function rowsOf(head: string, page = readme): string[][] {
  const table = [...page.matchAll(/(?:^\|.*\n)+/gm)]
    .map(([text]) => text.trim().split('\n').map(cellsOf))
    .find(([first]) => first?.[0] === head);
  assert.ok(table, `no table begins with "${head}"`);
  return table.slice(2);
}

function cellsOf(row: string): string[] {
  return row
    .split(/(?<!\\)\|/)
    .slice(1, -1)
    .map((cell) => cell.trim());
}

function codesIn(cell = ''): string[] {
  return [...cell.matchAll(/`([^`]+)`/g)].flatMap(([, code]) => (code?.includes('.') ? [] : [code ?? '']));
}

function bare(cell = ''): string {
  return cell.replaceAll('`', '');
}

/** Where links lead, and the paths of our own folders that stand in code. */
function linksOf(text: string): string[] {
  const links = [...text.matchAll(/\]\(([^)\s]+)\)/g)].map(([, link]) => link ?? '');
  const paths = [...text.matchAll(/`((?:src|config|deploy|docs|examples|test)\/[\w./-]*)`/g)];
  return [...links.filter((link) => !/^https?:/.test(link)), ...paths.map(([, path]) => `/${path}`)];
}

function leadsSomewhere(from: string, link: string): boolean {
  const [path = '', anchor] = link.split('#');
  const target = path === '' ? from : path.startsWith('/') ? path : join(from, '..', path);
  if (!existsSync(join(root, target))) return false;
  if (anchor === undefined) return true;
  const headings = [...read(target).matchAll(/^#+ (.*)$/gm)].map(([, heading]) => heading ?? '');
  return headings.some(
    (heading) =>
      heading
        .toLowerCase()
        .replaceAll(/[^\w -]/g, '')
        .replaceAll(' ', '-') === anchor,
  );
}
