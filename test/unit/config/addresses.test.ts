import assert from 'node:assert/strict';
import { test } from 'node:test';
import { addressesCollide, isLoopback, parseAddress, serverNameOf } from '../../../src/config/addresses.ts';

test('a TLS server is told the name of its host without a last dot, and none where that is an address', () => {
  assert.equal(serverNameOf('redis.example'), 'redis.example');
  assert.equal(serverNameOf('redis.example.'), 'redis.example');
  assert.equal(serverNameOf('192.0.2.1'), undefined);
  assert.equal(serverNameOf('2001:db8::1'), undefined);
});

const at = (host: string, port = 8080) => ({ host, port });

test('listeners on one port get in each other’s way on one host, or where either takes every interface', () => {
  for (const [one, other] of [
    [at('127.0.0.1'), at('127.0.0.1')],
    [at('0.0.0.0'), at('127.0.0.1')],
    [at('127.0.0.1'), at('0.0.0.0')],
    [at('127.0.0.1'), at('::')],
    [at('::'), at('10.0.0.1')],
    [at('::1'), at('::')],
    [at('0.0.0.0'), at('::')],
    [at('LOCALHOST'), at('127.0.0.1')],
    [at('Gateway.example'), at('gateway.example')],
  ] as const) {
    assert.ok(addressesCollide(one, other), `${one.host} and ${other.host}`);
  }
  assert.ok(!addressesCollide(at('127.0.0.1'), at('10.0.0.1')));
  assert.ok(!addressesCollide(at('0.0.0.0'), at('::1')), 'every IPv4 interface is none of IPv6');
  assert.ok(!addressesCollide(at('127.0.0.1'), at('127.0.0.1', 8081)));
  assert.ok(!addressesCollide(at('127.0.0.1', 0), at('127.0.0.1', 0)));
});

test('an IPv6 address has one form, however it is written', () => {
  for (const written of ['[::]:80', '[0::0]:80', '[0:0:0:0:0:0:0:0]:80'])
    assert.deepEqual(parseAddress(written), { host: '::', port: 80 });
  assert.deepEqual(parseAddress('[2001:DB8::0:1]:80'), { host: '2001:db8::1', port: 80 });
  assert.deepEqual(parseAddress('[fe80::1%eth0]:80'), { host: 'fe80::1%eth0', port: 80 });
});

test('only this machine reaches what is on loopback, by its name too', () => {
  for (const host of ['127.0.0.1', '127.255.255.255', '::1', 'localhost', 'LocalHost']) {
    assert.ok(isLoopback({ host, port: 1 }), host);
  }
  for (const host of ['0.0.0.0', '::', '10.0.0.1', '126.255.255.255', 'gateway.local', 'localhost.example']) {
    assert.ok(!isLoopback({ host, port: 1 }), host);
  }
});
