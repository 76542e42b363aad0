import assert from 'node:assert/strict';
import { test } from 'node:test';
import { networksOf } from '../../../src/wire/networks.ts';

for (const { written, has, hasNot } of [
  { written: '10.0.0.0/8', has: ['10.1.2.3', '::ffff:10.1.2.3'], hasNot: ['11.0.0.0', '::10.1.2.3', '::1'] },
  { written: '192.0.2.1', has: ['192.0.2.1'], hasNot: ['192.0.2.2'] },
  { written: '0.0.0.0/0', has: ['0.0.0.0', '255.255.255.255'], hasNot: ['::1', '2001:db8::1'] },
  { written: '2001:db8::/32', has: ['2001:db8::1'], hasNot: ['2001:db9::1', '10.0.0.1'] },
  { written: '::1', has: ['::1'], hasNot: ['::2', '0.0.0.1'] },
  // Each of these holds what stands for IPv4 too.
  { written: '::1/64', has: ['::1', '::ffff:1:2:3'], hasNot: ['203.0.113.9', '127.0.0.1'] },
  { written: '::/0', has: ['::1', '2001:db8::1'], hasNot: ['203.0.113.9'] },
  { written: '::/95', has: ['::1'], hasNot: ['203.0.113.9'] },
  { written: '::ffff:0:0/96', has: ['203.0.113.9', '::ffff:203.0.113.9'], hasNot: ['::1'] },
  { written: '::ffff:10.0.0.0/104', has: ['10.1.2.3'], hasNot: ['11.0.0.0'] },
  { written: '::ffff:192.0.2.1', has: ['192.0.2.1'], hasNot: ['192.0.2.2'] },
]) {
  test(`${written} holds what is written for it, and of IPv4 only what is written as such`, () => {
    const networks = networksOf([written]);
    for (const address of has) assert.ok(networks.has(address), address);
    for (const address of hasNot) assert.ok(!networks.has(address), address);
  });
}

test('what is no address is in no network', () => {
  const networks = networksOf(['0.0.0.0/0', '::/0']);
  for (const text of ['', 'unknown', '10.0.0.256', '10.0.0.1:80', '[::1]'])
    assert.ok(!networks.has(text), text);
});
