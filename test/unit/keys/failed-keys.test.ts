import assert from 'node:assert/strict';
import { test } from 'node:test';
import { countFailedKeys, networkOf, type GuessingReport } from '../../../src/keys/failed-keys.ts';

function scene(failuresMax = 3) {
  const state = { now: 0 };
  const reports: GuessingReport[] = [];
  const countFailed = countFailedKeys({
    failuresMax,
    perMs: 60_000,
    mono: () => state.now,
    report: (report) => reports.push(report),
  });
  return { countFailed, state, reports };
}

test('after too many failures a network is told until when, and begins anew in the next interval', () => {
  const { countFailed, state } = scene();
  for (let round = 0; round < 3; round += 1) assert.equal(countFailed('192.0.2.1'), undefined);
  assert.deepEqual(countFailed('192.0.2.1'), { retryInSeconds: 60 });
  state.now = 59_500;
  assert.deepEqual(countFailed('192.0.2.1'), { retryInSeconds: 1 });
  assert.equal(countFailed('192.0.2.2'), undefined);
  state.now = 60_000;
  assert.equal(countFailed('192.0.2.1'), undefined);
});

test('there is one report in an interval, with the number of others', () => {
  const { countFailed, state, reports } = scene(1);
  for (const client of ['192.0.2.1', '192.0.2.2', '192.0.2.3']) {
    for (let round = 0; round < 5; round += 1) countFailed(client);
  }
  assert.deepEqual(reports, [{ network: '192.0.2.1', otherNetworks: 0 }]);
  state.now = 60_000;
  for (let round = 0; round < 5; round += 1) countFailed('192.0.2.9');
  assert.deepEqual(reports[1], { network: '192.0.2.9', otherNetworks: 2 });
  state.now = 120_000;
  for (let round = 0; round < 5; round += 1) countFailed('192.0.2.1');
  assert.deepEqual(reports[2], { network: '192.0.2.1', otherNetworks: 0 });
  state.now = 150_500;
  assert.deepEqual(countFailed('192.0.2.1'), { retryInSeconds: 30 }, 'never earlier than the truth');
});

test('many networks are forgotten again, the first ones first', () => {
  const { countFailed } = scene(1);
  for (let at = 0; at < 10_001; at += 1) countFailed(`10.${at >> 16}.${(at >> 8) & 255}.${at & 255}`);
  assert.equal(countFailed('10.0.0.0'), undefined);
  assert.notEqual(countFailed('10.0.39.16'), undefined);
});

for (const [client, network] of [
  ['192.0.2.1', '192.0.2.1'],
  ['2001:db8:1:2:3:4:5:6', '2001:db8:1:2::/64'],
  ['2001:DB8::1', '2001:db8:0:0::/64'],
  ['::1', '0:0:0:0::/64'],
  ['fe80::1%eth0', 'fe80:0:0:0::/64'],
  ['1:2:3:4:5:6:192.0.2.1', '1:2:3:4::/64'],
  ['1::4:5:6:7:8', '1:0:0:4::/64'],
  ['unknown', 'unknown'],
] as const) {
  test(`${client} belongs to ${network}`, () => assert.equal(networkOf(client), network));
}
