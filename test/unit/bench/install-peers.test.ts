import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { tempFolder } from '../../helpers/temp-folder.ts';

const installer = new URL('../../../bench/install-peers.ts', import.meta.url).href;

test('where the packages of the peers cannot be installed the bench says why and goes on', (t) => {
  const folder = tempFolder(t);
  writeFileSync(join(folder, 'package-lock.json'), '{}');
  const bench = `import { installPeers } from '${installer}'; await installPeers('${folder}'); console.log('went on');`;
  const goesOn = (env: NodeJS.ProcessEnv): string => {
    const args = ['--input-type=module', '-e', bench];
    const { stdout, stderr } = spawnSync(process.execPath, args, { encoding: 'utf8', env });
    assert.equal(stdout, 'went on\n', stderr);
    return stderr;
  };
  assert.match(goesOn(process.env), /could not be installed[^]*npm error/);
  assert.match(goesOn({ PATH: folder }), /could not be installed[^]*npm is not installed/);
});

test('peers that are installed stay, whatever the time of the lock file, until others are wanted', (t) => {
  const folder = tempFolder(t);
  mkdirSync(join(folder, 'node_modules'));
  writeFileSync(join(folder, 'node_modules/.package-lock.json'), lockOf('1.0.0'));
  const bench = `import { installPeers } from '${installer}'; await installPeers('${folder}');`;
  for (const [wanted, said] of [
    ['1.0.0', ''],
    ['1.0.1', 'npm is not installed'],
  ] as const) {
    writeFileSync(join(folder, 'package-lock.json'), lockOf(wanted));
    const args = ['--input-type=module', '-e', bench];
    const { stderr } = spawnSync(process.execPath, args, { encoding: 'utf8', env: { PATH: folder } });
    assert.equal(stderr.includes('npm is not installed') ? 'npm is not installed' : stderr, said);
  }
});

function lockOf(version: string): string {
  return JSON.stringify({ packages: { '': {}, 'node_modules/a': { version } } });
}
