import { spawnSync } from 'node:child_process';
import { accessSync, constants, existsSync, readFileSync } from 'node:fs';
import { availableParallelism, cpus } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { CannotRun } from './cannot-run.ts';

/** The checkout, and this folder in it. */
export const root = fileURLToPath(new URL('..', import.meta.url));
export const here = fileURLToPath(new URL('.', import.meta.url));

/** What starts the gateway of this checkout. */
export const main = join(root, 'src/main.ts');

/** What runs where: the measured subject has a core of its own. */
export const cores = chooseCores(allowedCores());

interface Cores {
  readonly subject: string;
  readonly load: string;
  readonly all: string;
  /** The two are threads of one core. */
  readonly areOne: boolean;
}

/** The first core, and the first that is not another thread of it. All but that of the load, if there are more than two. */
function chooseCores(allowed: readonly number[]): Cores {
  const [subject = 0, ...others] = allowed;
  const siblings = coresIn(readOr('', `/sys/devices/system/cpu/cpu${subject}/topology/thread_siblings_list`));
  const load = others.find((core) => !siblings.includes(core)) ?? others[0] ?? subject;
  const rest = allowed.filter((core) => core !== load);
  const all = rest.length > 1 ? rest : allowed;
  return {
    subject: String(subject),
    load: String(load),
    all: all.join(','),
    areOne: siblings.includes(load),
  };
}

/** The cores this process may run on. */
function allowedCores(): readonly number[] {
  return coresIn(/^Cpus_allowed_list:\s*(.*)$/m.exec(readOr('', '/proc/self/status'))?.[1] ?? '');
}

/** `0-2,5` as numbers. */
function coresIn(list: string): readonly number[] {
  const ranges = [...list.matchAll(/(\d+)(?:-(\d+))?/g)];
  return ranges.flatMap(([, from, to = from]) => {
    const first = Number(from);
    return Array.from({ length: Number(to) - first + 1 }, (_, n) => first + n);
  });
}

function readOr(otherwise: string, path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return otherwise;
  }
}

/** Why nothing can be measured on this machine; undefined when it can. */
export function whyNotHere(): string | undefined {
  if (process.platform !== 'linux' || allowedCores().length < 2)
    return 'The bench needs Linux and two cores: one for what is measured, one for the load.';
  const missing = ['wrk', 'taskset', 'setpriv'].filter((name) => findProgram(name) === undefined);
  return missing.length === 0 ? undefined : missing.map(whyMissing).join('\n');
}

const packages: Readonly<Record<string, string>> = {
  wrk: 'wrk',
  taskset: 'util-linux',
  setpriv: 'util-linux',
  'redis-server': 'redis-server',
  nginx: 'nginx libnginx-mod-http-lua lua-cjson',
  haproxy: 'haproxy',
};

/** Where a program is, if it is installed. */
export function findProgram(name: string): string | undefined {
  const folders = [...(process.env['PATH'] ?? '').split(':'), '/usr/sbin', '/usr/local/sbin'];
  return folders.map((folder) => join(folder, name)).find(isProgram);
}

/** The path of a program that something cannot do without. */
export function need(name: string): string {
  const path = findProgram(name);
  if (path === undefined) throw new CannotRun(whyMissing(name));
  return path;
}

export function whyMissing(name: string): string {
  return `${name} is not installed; ${adviceFor(name)}`;
}

/** How a program gets onto the machine. */
export function adviceFor(name: string): string {
  return `install it, on Debian and Ubuntu: sudo apt-get install ${packages[name] ?? name}`;
}

function isProgram(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}

const moduleFolders = ['/usr/share/nginx/modules', '/usr/lib/nginx/modules', '/etc/nginx/modules'];

/** The two modules that give nginx its Lua, if they are installed. */
export function findLua(): readonly string[] | undefined {
  return moduleFolders.map(luaModulesIn).find((modules) => modules.every((path) => existsSync(path)));
}

function luaModulesIn(folder: string): readonly string[] {
  return ['ndk_http_module.so', 'ngx_http_lua_module.so'].map((file) => join(folder, file));
}

/** What the figures were taken on. */
export function describeMachine(): string {
  const shared = cores.areOne ? ', of which the two in use are threads of one' : '';
  return `${availableParallelism()} cores${shared}, ${cpus()[0]?.model.trim() ?? 'unknown'}, Linux`;
}

/** The versions of what is measured, and of what measures it. */
export function describePrograms(): string {
  const asked: readonly (readonly [string, string])[] = [
    ['nginx', '-v'],
    ['haproxy', '-v'],
    ['redis-server', '--version'],
    ['wrk', '-v'],
  ];
  return [`Node ${process.version}`, ...asked.map(versionOf)].join(', ');
}

function versionOf([name, flag]: readonly [string, string]): string {
  const path = findProgram(name);
  if (path === undefined) return `no ${name}`;
  const { stdout, stderr } = spawnSync(path, [flag], { encoding: 'utf8' });
  return `${name} ${/\d+\.\d+[.\w]*/.exec(stdout + stderr)?.[0] ?? 'of unknown version'}`;
}
