import assert from 'node:assert/strict';

/**
 * Runs work that hostile input tries to make endless. The bound is no measure of speed: it is a hundred times what the work
 * takes, and work that grows with the square of its input would overstep it by far.
 */
export function doesNotHang(work: () => void): void {
  const started = performance.now();
  work();
  assert.ok(performance.now() - started < 60_000, 'the work grew out of proportion to its input');
}
