import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Config } from '../../../src/config/config.ts';
import { fixedChanges } from '../../../src/config/fixed-options.ts';
import { loadConfig } from '../../../src/config/load-config.ts';
import { writeTemporary } from '../../helpers/config-file.ts';
import { baseConfig } from '../../helpers/start-gateway.ts';
import { tempFolder } from '../../helpers/temp-folder.ts';

/** What a reload changes. Whoever adds a part of the configuration has to say on which side it is. */
const reloaded: readonly (keyof Config)[] = [
  'file',
  'trustProxy',
  'auth',
  'plans',
  'keys',
  'upstreams',
  'versions',
  'routes',
  'usagePath',
  'errors',
  'forwarded',
  'warnings',
];

test('each part of the configuration is changed by a reload, or named where it is', (t) => {
  const yaml = JSON.stringify(baseConfig('http://127.0.0.1:9', tempFolder(t)));
  const config = loadConfig(writeTemporary(t, yaml), {});
  assert.deepEqual(fixedChanges(config, { ...config }), []);
  const changed = (part: string): Config => ({ ...config, [part]: 'another' });
  const isFixed = (part: string): boolean => fixedChanges(config, changed(part)).length === 1;
  const unnamed = Object.keys(config).filter((part) => !isFixed(part));
  assert.deepEqual(unnamed.toSorted(), reloaded.toSorted());
});
