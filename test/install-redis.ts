import { spawnSync } from 'node:child_process';

/** What decides how a missing redis-server gets installed. */
export interface Machine {
  readonly isRoot: boolean;
  readonly has: (program: string) => boolean;
}

const recipes: readonly { manager: string; command: string; withoutRoot?: boolean }[] = [
  // A failing update is not the end: the lists that are there may do.
  {
    manager: 'apt-get',
    command: 'apt-get update; DEBIAN_FRONTEND=noninteractive apt-get install -y redis-server',
  },
  { manager: 'apk', command: 'apk add --no-cache redis' },
  { manager: 'dnf', command: 'dnf install -y redis' },
  { manager: 'yum', command: 'yum install -y redis' },
  { manager: 'brew', command: 'brew install redis', withoutRoot: true },
];

/** The shell line that installs redis-server on this machine; undefined when there is no way without a password. */
export function installCommand({ isRoot, has }: Machine): string | undefined {
  const recipe = recipes.find(({ manager }) => has(manager));
  if (!recipe) return undefined;
  if (isRoot || recipe.withoutRoot) return recipe.command;
  return has('sudo') ? `sudo -n sh -c '${recipe.command}'` : undefined;
}

/** Makes sure that redis-server can be run, installing it if need be; false when that is left to a human. */
export function ensureRedisServer(): boolean {
  if (isOnPath('redis-server')) return true;
  const command = installCommand({ isRoot: process.getuid?.() === 0, has: isOnPath });
  if (command) {
    console.log(`The tests use a real Redis and there is none: ${command}`);
    spawnSync('sh', ['-c', command], { stdio: 'inherit' });
  }
  return isOnPath('redis-server');
}

function isOnPath(program: string): boolean {
  return spawnSync('sh', ['-c', 'command -v "$0"', program], { stdio: 'ignore' }).status === 0;
}
