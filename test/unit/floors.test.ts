import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join, normalize, relative } from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';

/**
 * The house, from the roof down. A name is a file or a folder of src; what stands on one floor stands side by side.
 * An import goes to a lower floor or stays in its own folder. Types count too: who knows a type knows its owner.
 */
const floors: readonly (readonly string[])[] = [
  ['main.ts'],
  ['commands'],
  ['gateway'],
  ['app.ts', 'admin'],
  ['journey.ts'],
  ['answer.ts', 'door', 'stages'],
  ['quota', 'upstream', 'uploads'],
  ['bodies', 'keys'],
  ['telemetry'],
  ['stores'],
  ['config'],
  ['wire'],
  ['visit.ts'],
  ['content', 'refusals.ts', 'waiting'],
  ['collections'],
];

/** Stages know each other's results; beyond that, one is made of four. */
const stageImports: readonly string[] = ['read-any.ts', 'read-json.ts', 'read-upload.ts'].map(
  (part) => `read-body.ts → ${part}`,
);
const stageTypes: readonly string[] = ['authenticate.ts', 'check-request.ts'];

/** Packages and built-in modules that only some files may know, so that each can be replaced in one place. */
const guarded: Readonly<Record<string, RegExp>> = {
  'node:sqlite': /^stores\/sqlite\//,
  ioredis: /^stores\/redis\//,
  'http-proxy': /^upstream\//,
  express: /^(?:app\.ts|admin\/)/,
  pino: /^telemetry\/(?:access-)?log\.ts$/,
  'pino-http': /^telemetry\/access-log\.ts$/,
  'sonic-boom': /^telemetry\/standard-output\.ts$/,
  'prom-client': /^telemetry\/(?:instruments|(?:merged-)?metrics|tallies)\.ts$/,
  commander: /^(?:main\.ts$|commands\/)/,
  yaml: /^config\/yaml\//,
  ajv: /^config\//,
};

/** The process belongs to main and the commands. Others touch this of it, and nothing else. */
const processUses: readonly string[] = [
  'door/connections.ts: process.nextTick', // schedules, and changes nothing
  'telemetry/build.ts: process.versions', // what it runs on
  'telemetry/log.ts: process.stdout', // what the log looks like
  'telemetry/standard-output.ts: process.stdout', // where the log goes
];

interface Import {
  readonly file: string;
  readonly line: number;
  readonly text: string;
  /** A file of src, or the name of a package. */
  readonly target: string;
  readonly ours: boolean;
  readonly typeOnly: boolean;
}

const src = fileURLToPath(new URL('../../src/', import.meta.url));
const files = readdirSync(src, { recursive: true, encoding: 'utf8' }).filter((file) => file.endsWith('.ts'));
const imports = files.flatMap((file) => importsOf(file, readFileSync(join(src, file), 'utf8')));

test('every file has a floor', () => {
  assert.ok(imports.length > 1000, 'the imports are found');
  const units = new Set(files.map(unitOf));
  assert.deepEqual(
    floors.flat().filter((unit) => !units.has(unit)),
    [],
    'nobody lives there',
  );
  const homeless = files.filter((file) => floorOf(file) === -1);
  assert.deepEqual(homeless, [], 'give it one in the list of floors');
});

test('imports go down, or stay in their folder', () => {
  const upward = imports.filter(
    ({ file, target, ours }) => ours && unitOf(file) !== unitOf(target) && floorOf(file) >= floorOf(target),
  );
  refuse(upward);
});

test('whoever reads the visit of a request stands above it, though it comes with the request and needs no import', () => {
  const readers = files.filter((file) => /\bvisit\b/.test(codeOf(file)));
  assert.ok(readers.length > 5, 'the readers are found');
  const below = readers.filter((file) => file !== 'visit.ts' && floorOf(file) >= floorOf('visit.ts'));
  assert.deepEqual(below, []);
});

test('imports never go round in a circle', () => {
  const circles: string[] = [];
  const finished = new Set<string>();
  const walk = (file: string, trail: readonly string[]): void => {
    if (trail.includes(file)) circles.push([...trail.slice(trail.indexOf(file)), file].join(' → '));
    if (finished.has(file) || trail.includes(file)) return;
    for (const { target } of imports.filter((one) => one.file === file && one.ours)) {
      walk(target, [...trail, file]);
    }
    finished.add(file);
  };
  for (const file of files) walk(file, []);
  assert.deepEqual(circles, []);
});

test('a stage never imports another', () => {
  const sideways = imports.filter(({ file, target, typeOnly }) => {
    if (unitOf(file) !== 'stages' || unitOf(target) !== 'stages') return false;
    const [from, to] = [file, target].map((path) => path.slice('stages/'.length));
    return !(typeOnly && stageTypes.includes(to ?? '')) && !stageImports.includes(`${from} → ${to}`);
  });
  refuse(sideways);
});

test('node:http is imported for its types only, because a start pays for more', () => {
  refuse(imports.filter(({ target, typeOnly }) => target === 'node:http' && !typeOnly));
});

for (const [name, home] of Object.entries(guarded)) {
  test(`${name} is known in its own place only`, () => {
    refuse(imports.filter((one) => isOf(name, one) && !home.test(one.file)));
  });
}

test('only main and the commands touch the process', () => {
  const touching = files
    .filter((file) => file !== 'main.ts' && unitOf(file) !== 'commands')
    .flatMap((file) => [...new Set(processUsesOf(file))].map((use) => `${file}: ${use}`));
  assert.deepEqual(touching.toSorted(), processUses.toSorted());
});

test('the process is not imported under another name', () => {
  refuse(imports.filter(({ target }) => target === 'node:process' || target === 'process'));
});

/** Fails with each import as an editor finds it: file, line, and what stands there. */
function refuse(wrong: readonly Import[]): void {
  assert.deepEqual(
    wrong.map(({ file, line, text }) => `src/${file}:${line}: ${text}`),
    [],
  );
}

function importsOf(file: string, source: string): Import[] {
  const statement =
    /^(?:import|export)\s(?<type>type\s)?[^'";]*?from\s*'(?<from>[^']+)'|^import\s+'(?<bare>[^']+)'|\bimport\(\s*'(?<lazy>[^']+)'/gm;
  return [...source.matchAll(statement)].map((match) => {
    const { type, from, bare, lazy } = match.groups ?? {};
    const name = from ?? bare ?? lazy ?? '';
    const ours = name.startsWith('.');
    return {
      file,
      line: source.slice(0, match.index).split('\n').length,
      text: match[0].replaceAll(/\s+/g, ' '),
      target: ours ? normalize(join(dirname(file), name)) : name,
      ours,
      typeOnly: type !== undefined,
    };
  });
}

function isOf(name: string, { target, ours }: Import): boolean {
  return !ours && (target === name || target.startsWith(`${name}/`));
}

function processUsesOf(file: string): string[] {
  const use = /(?<![\w$./'"-])process(?:\.\w+|\[)|(?<==\s*)process\b/g;
  return [...codeOf(file).matchAll(use)].map(([found]) => found);
}

/** The text of a file without its comments. */
function codeOf(file: string): string {
  return readFileSync(join(src, file), 'utf8').replaceAll(/\/\*[^]*?\*\/|(?<=^|\s)\/\/[^\n]*/g, '');
}

function unitOf(file: string): string {
  return relative('.', file).split('/')[0] ?? file;
}

function floorOf(file: string): number {
  return floors.findIndex((floor) => floor.includes(unitOf(file)));
}
