import assert from 'node:assert/strict';
import { test } from 'node:test';
import { installCommand } from '../install-redis.ts';

const cases: readonly { name: string; isRoot: boolean; programs: string[]; expected: RegExp | undefined }[] =
  [
    {
      name: 'root on Debian',
      isRoot: true,
      programs: ['apt-get'],
      expected: /^apt-get update; .* install -y redis-server$/,
    },
    {
      name: 'a user with sudo',
      isRoot: false,
      programs: ['apt-get', 'sudo'],
      expected: /^sudo -n sh -c 'apt-get/,
    },
    { name: 'a user without sudo', isRoot: false, programs: ['apt-get'], expected: undefined },
    { name: 'a user of Homebrew', isRoot: false, programs: ['brew'], expected: /^brew install redis$/ },
    { name: 'no package manager', isRoot: true, programs: ['sudo'], expected: undefined },
  ];

for (const { name, isRoot, programs, expected } of cases) {
  test(`a missing Redis is installed without asking for a password, or not at all: ${name}`, () => {
    const command = installCommand({ isRoot, has: (program) => programs.includes(program) });
    if (expected) assert.match(command ?? '', expected);
    else assert.equal(command, undefined);
  });
}
