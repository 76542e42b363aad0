import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
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
