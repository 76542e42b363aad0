import assert from 'node:assert/strict';
import type { IncomingMessage } from 'node:http';
import { test } from 'node:test';
import type { Origin } from '../../../src/visit.ts';
import { createOriginFinder } from '../../../src/wire/client-address.ts';

function originOf(
  remoteAddress: string | undefined,
  forwardedFor: string | undefined,
  trustProxy: readonly string[],
): Origin {
  const headers = forwardedFor === undefined ? {} : { 'x-forwarded-for': forwardedFor };
  return createOriginFinder(trustProxy)({ socket: { remoteAddress }, headers } as unknown as IncomingMessage);
}

const proxies = ['10.0.0.0/8', '2001:db8:1::/48'];

test('who is at the other end is the client, whatever it says, unless it is a proxy that is trusted', () => {
  const peer = '192.0.2.1';
  const own = { peer, client: peer, trusted: false };
  assert.deepEqual(originOf(peer, '203.0.113.9', []), own);
  assert.deepEqual(originOf(peer, '203.0.113.9', proxies), own);
  assert.deepEqual(originOf(`::ffff:${peer}`, undefined, proxies), own);
  assert.deepEqual(originOf(undefined, '203.0.113.9', proxies), {
    peer: 'unknown',
    client: 'unknown',
    trusted: false,
  });
});

for (const [says, client] of [
  [undefined, '10.0.0.1'],
  ['', '10.0.0.1'],
  ['203.0.113.9', '203.0.113.9'],
  ['1.1.1.1, 203.0.113.9', '203.0.113.9'],
  ['1.1.1.1, 203.0.113.9, 10.9.9.9', '203.0.113.9'],
  ['203.0.113.9,2001:db8:1::7', '203.0.113.9'],
  ['10.0.0.7, 10.0.0.8', '10.0.0.7'],
  ['203.0.113.9:4711', '203.0.113.9'],
  ['[2001:db8::1]:4711', '2001:db8::1'],
  ['[2001:db8::1]', '2001:db8::1'],
  ['::ffff:203.0.113.9', '203.0.113.9'],
  ['0:0:0:0:0:FFFF:cb00:7109', '203.0.113.9'],
  ['[0::FFFF:CB00:7109]:80', '203.0.113.9'],
  ['1.1.1.1, 203.0.113.9, ::FFFF:a01:101', '203.0.113.9'],
  ['2001:DB8::1', '2001:DB8::1'],
  // No IPv4 addresses, though they begin or end as those do.
  ['::ffff:1:2:3', '::ffff:1:2:3'],
  ['::ffff:0:c000:201', '::ffff:0:c000:201'],
  ['2001:db9::ffff:c000:201', '2001:db9::ffff:c000:201'],
  ['::192.0.2.1', '::192.0.2.1'],
  // What makes no sense ends the way: what stands to its left was not said by anybody who is trusted.
  ['203.0.113.9, nonsense', '10.0.0.1'],
  ['203.0.113.9, nonsense, 10.9.9.9', '10.9.9.9'],
  ['203.0.113.9, fe80::1%eth0', '10.0.0.1'],
  ['203.0.113.9, ::ffff:192.0.2.1%x', '10.0.0.1'],
  ['203.0.113.9, 0000:0000:0000:0000:0000:ffff:192.168.100.200%x', '10.0.0.1'],
  ['203.0.113.9, 10.0.0.256', '10.0.0.1'],
  ['203.0.113.9, ::ffff:1.2.3.4.5', '10.0.0.1'],
] as const) {
  test(`of a proxy that says ${says} the client is ${client}`, () => {
    assert.deepEqual(originOf('10.0.0.1', says, proxies), { peer: '10.0.0.1', client, trusted: true });
  });
}
