import assert from 'node:assert/strict';
import { test } from 'node:test';
import { findFileShortage } from '../../../src/commands/announce.ts';
import type { Config } from '../../../src/config/config.ts';

const config = {
  limits: { connections: 1000 },
  upstreams: new Map([
    ['one', { targets: ['http://a', 'http://b'], connections: 100 }],
    ['two', { targets: ['http://c'], connections: 50 }],
  ]),
} as unknown as Config;

const told = (files: string): string =>
  `Max processes             96365                96365                processes\nMax open files            ${files}               524288               files\n`;

test('fewer files than callers, upstreams and the gateway itself may need are a shortage', () => {
  assert.deepEqual(findFileShortage(config, told('1449')), { filesMax: 1449, needed: 1450 });
});

test('files that are enough, without end, or not told are none', () => {
  for (const limits of [told('1450'), told('unlimited'), '']) {
    assert.equal(findFileShortage(config, limits), undefined);
  }
});
