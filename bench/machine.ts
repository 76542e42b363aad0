import { accessSync, constants, existsSync } from 'node:fs';
import { availableParallelism, cpus } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

/** The checkout, and this folder in it. */
export const root = fileURLToPath(new URL('..', import.meta.url));
export const here = fileURLToPath(new URL('.', import.meta.url));

/** Who runs where: what is measured has a core of its own. */
export const cores = { subject: '0', load: '1', all: `0-${availableParallelism() - 1}` } as const;

const packages: Readonly<Record<string, string>> = {
  wrk: 'wrk',
  taskset: 'util-linux',
  'redis-server': 'redis-server',
  nginx: 'nginx libnginx-mod-http-lua lua-cjson',
  haproxy: 'haproxy',
};

/** Where a program is, if it is installed. */
export function findProgram(name: string): string | undefined {
  const folders = [...(process.env['PATH'] ?? '').split(':'), '/usr/sbin', '/usr/local/sbin'];
  return folders.map((folder) => join(folder, name)).find(isProgram);
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
  return `${availableParallelism()} cores, ${cpus()[0]?.model.trim() ?? 'unknown'}, Node ${process.version}, Linux`;
}
