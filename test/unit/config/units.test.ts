import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parseDuration, parseSize, printSize } from '../../../src/config/units.ts';

test('every unit of a duration and of a size counts as much as it says', () => {
  const durations = ['250ms', '10s', '5m', '2h', '7d'].map(parseDuration);
  assert.deepEqual(durations, [250, 10_000, 300_000, 7_200_000, 604_800_000]);
  assert.deepEqual(['512B', '16KB', '10MB', '1GB'].map(parseSize), [512, 16_384, 10_485_760, 1_073_741_824]);
});

test('a size is printed with the largest unit that it fills', () => {
  const sizes = [0, 1, 2, 1023, 1024, 1536, 1024 ** 2, 2 * 1024 ** 4].map(printSize);
  assert.deepEqual(sizes, [
    '0 bytes',
    '1 byte',
    '2 bytes',
    '1023 bytes',
    '1 KB',
    '1.5 KB',
    '1 MB',
    '2048 GB',
  ]);
});
