import assert from 'node:assert/strict';
import { test } from 'node:test';
import { LineBuffer } from '../../../src/telemetry/line-buffer.ts';

function collect() {
  const pieces: Buffer[] = [];
  return { pieces, lines: new LineBuffer((piece) => pieces.push(piece)) };
}

test('what is written comes out byte for byte and in order, whatever the sizes', () => {
  const { pieces, lines } = collect();
  const sizes = [1, 30_000, 65_536, 22_000, 200_000, 3, 21_845, 21_846];
  const written = sizes.map((size, i) => `${i}${'aé€😀'.repeat(size / 4)}\n`);
  for (const line of written) lines.write(line);
  lines.handOver();
  assert.equal(Buffer.concat(pieces).toString(), written.join(''));
});

test('no control character leaves that JSON and a terminal read in different ways', () => {
  const { pieces, lines } = collect();
  const odd = { short: 'a\u009B31mb\u0085\u2028\u2029\u0080é€😀', long: '' };
  for (const long of ['', '\u009F'.repeat(20_000), '\u009F'.repeat(70_000)]) {
    lines.write(`${JSON.stringify({ ...odd, long })}\n`);
    lines.handOver();
    const line = Buffer.concat(pieces.splice(0)).toString();
    assert.deepEqual(JSON.parse(line), { ...odd, long });
    assert.doesNotMatch(line.slice(0, -1), /[\p{Cc}\p{Zl}\p{Zp}]/u);
    assert.match(line, /a\\u009b31mb\\u0085\\u2028\\u2029\\u0080é€😀/);
  }
});

test('a piece that was handed over is not written to again, be it nearly empty or full', () => {
  for (const count of [1, 8]) {
    const { pieces, lines } = collect();
    const first = `${'x'.repeat(5000)}\n`;
    for (let written = 0; written < count; written += 1) lines.write(first);
    lines.handOver();
    lines.write('later\n');
    lines.handOver();
    assert.deepEqual(pieces.map(String), [first.repeat(count), 'later\n']);
  }
});

test('many lines leave in few pieces', () => {
  const { pieces, lines } = collect();
  for (let i = 0; i < 1000; i += 1) lines.write(`${'x'.repeat(499)}\n`);
  lines.handOver();
  assert.equal(Buffer.concat(pieces).length, 500_000);
  assert.ok(pieces.length <= 9, `${pieces.length} pieces`);
});

test('a single line leaves after 200 ms, as does the next, and nothing where there is nothing', (context) => {
  context.mock.timers.enable({ apis: ['setTimeout'] });
  const { pieces, lines } = collect();
  lines.handOver();
  lines.write('alone\n');
  context.mock.timers.tick(199);
  assert.deepEqual(pieces, []);
  context.mock.timers.tick(1);
  assert.deepEqual(pieces.map(String), ['alone\n']);
  lines.write('alone, too\n');
  context.mock.timers.tick(200);
  assert.deepEqual(pieces.map(String), ['alone\n', 'alone, too\n']);
});

test('a few lines that wait for long hold no more memory than they need', () => {
  const { pieces, lines } = collect();
  for (let nth = 0; nth < 1000; nth += 1) {
    lines.write(`${nth}\n`);
    lines.handOver();
  }
  const held = [...new Set(pieces.map(({ buffer }) => buffer))];
  assert.ok(held.reduce((sum, { byteLength }) => sum + byteLength, 0) < 1_000_000);
  assert.equal(pieces.join(''), Array.from({ length: 1000 }, (_, nth) => `${nth}\n`).join(''));
});
